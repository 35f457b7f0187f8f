import { copyFileSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Tenants } from '../../src/shared/core/budget.ts'
import { modelBudgetName, NO_BUDGET, NO_TENANTS } from '../../src/shared/core/budget.ts'
import { ModelNames } from '../../src/shared/core/model-names.ts'
import { emptyUsage } from '../../src/shared/core/usage.ts'
import { reconcile } from '../../src/control/ledger/reconcile.ts'
import { retryDeadLetter } from '../../src/control/settlement/retry-dead-letter.ts'
import type { RetriedLetter } from '../../src/control/settlement/retry-dead-letter.ts'
import type { PriceOf } from '../../src/control/settlement/rows.ts'
import type { Settler } from '../../src/control/settlement/settler.ts'
import { createSettler } from '../../src/control/settlement/settler.ts'
import type { Database } from '../../src/control/store/database.ts'
import { takeDeadLetter } from '../../src/control/store/dead-letters.ts'
import { addDeadLetters } from '../../src/control/store/journal.ts'
import { bucketOf } from '../../src/control/store/latency-buckets.ts'
import { migrate } from '../../src/control/store/migrate.ts'
import { listLogRows, LOG_COLUMNS } from '../../src/control/store/request-log.ts'
import { TransactionScope } from '../../src/control/store/transaction-scope.ts'
import { faultyDatabase } from './faulty-database.ts'
import { aBegin, anEnd } from './journal-records.ts'
import { seededJournal } from './seeded-journal.ts'
import type { TestWriter } from './test-journal.ts'
import { TestJournal, frameAround, framesOf } from './test-journal.ts'
import { dose } from '../support/dose.ts'
import { eventually } from '../support/eventually.ts'
import { TEST_SEED } from '../support/seed.ts'

const NODE = 'node-1'
/** A segment, and the rows of its records. */
const EARLIER = new URL('../fixtures/journal/', import.meta.url)
/** At every which statement of a settlement the process ends. */
const EVERY = dose('SLUICE_TEST_STATEMENTS_EVERY', { short: 4, long: 1 })
/** Each token of an answer costs as much as its provider's name has letters. */
const priceOf: PriceOf = (providerId, _, { completionTokens }) => completionTokens * (providerId?.length ?? 0)
const TABLES =
  'request_log, request_rollup_hourly, request_rollup_daily, enterprise_rollup_hourly, key_rollup_daily, upstream_rollup_hourly, timing_rollup_hourly, budget_use, journal_offsets, journal_open, journal_dead_letters'

/** Exactly-once settlement, on either database. */
/** @param records of the random journal that is settled whole */
export function settlerContract(open: () => Promise<Database>, records: number): void {
  describe('as the target of a settler', () => {
    let database: Database
    let journal: TestJournal
    let settler: Settler
    let nowMs: number
    const warnings: string[] = []
    const errors: string[] = []
    const endedWriters: string[] = []
    let tenants: Tenants

    beforeAll(async () => {
      database = await open()
      await migrate(database)
    })
    afterAll(() => database.close())
    beforeEach(async () => {
      await database.script(`TRUNCATE ${TABLES}`)
      journal = new TestJournal()
      warnings.length = 0
      errors.length = 0
      endedWriters.length = 0
      tenants = NO_TENANTS
      nowMs = Date.now()
      settler = settlerOn(database)
    })
    afterEach(async () => {
      await settler.stop()
      journal.remove()
    })

    function settlerOn(target: Database, batchRows = 2_000): Settler {
      return createSettler({
        database: target,
        journalDirectory: journal.directory,
        node: NODE,
        priceOf,
        tenants: () => tenants,
        onWriterEnded: (writer) => endedWriters.push(writer),
        clock: { now: () => nowMs, monotonicUs: () => 0 },
        isWriterAlive: journal.isWriterAlive,
        logger: {
          info: () => undefined,
          warn: (_, message) => warnings.push(message),
          error: (_, message) => errors.push(message),
        },
        batchRows,
        pollMs: 5,
        backoffMs: [1, 5],
      })
    }

    /** As after a new start of the control process. */
    async function restart(target = database, batchRows = 2_000): Promise<void> {
      await settler.stop()
      settler = settlerOn(target, batchRows)
    }

    const rows = () =>
      database.query<{ id: string; status: number | null; settlement: string }>(
        'SELECT id, status, settlement FROM request_log ORDER BY id',
      )
    const ids = async () => (await rows()).map(({ id }) => id)
    const letters = () =>
      database.query<{ segment: string; position: number; reason: string; bytes: Buffer }>(
        'SELECT segment, position, reason, bytes FROM journal_dead_letters ORDER BY segment, position',
      )
    const count = async (table: string) => {
      const [row] = await database.query<{ count: number }>(`SELECT count(*) AS count FROM ${table}`)
      return row?.count
    }

    it('makes one row of a begin and its end, and adds it to its hour', async () => {
      journal.writer('front-1').write(aBegin('a'), anEnd('a'))
      await settler.drain()
      expect(await rows()).toEqual([{ id: 'a', status: 200, settlement: 'exact' }])
      expect(await count('journal_open')).toBe(0)
      await expectRollupsToMatch(database)
    })

    it('prices the answers that were served, in the log and in the sums', async () => {
      const { usage } = anEnd('a')
      const costs = [
        anEnd('a', { providerId: 'one', usage: { ...usage, completionTokens: 7 } }),
        anEnd('b', { providerId: 'three', usage: { ...usage, completionTokens: 0 } }),
        anEnd('c', { providerId: null, servedModel: null }),
      ]
      journal.writer('front-1').write(...costs, aBegin('d'))
      journal.endWriter('front-1')
      await settler.drain()
      const priced = await database.query('SELECT id, cost_micro FROM request_log ORDER BY id')
      expect(priced).toEqual(['a', 'b', 'c', 'd'].map((id, index) => ({ id, cost_micro: index === 0 ? 21 : 0 })))
      await expectRollupsToMatch(database)
    })

    it('charges callers and all above them, in the month of the enterprise, by journal until that is closed', async () => {
      const acme = { timeZone: 'Asia/Kolkata', budget: NO_BUDGET, creditedMicro: null }
      tenants = {
        ...NO_TENANTS,
        enterprises: new Map([['acme', acme]]),
        departments: new Map([
          ['lab', { parentId: 'research', budget: NO_BUDGET }],
          ['research', { parentId: null, budget: NO_BUDGET }],
        ]),
        members: new Map(),
      }
      const usage = { ...anEnd('a').usage, promptTokens: 5, completionTokens: 10 }
      // Half past six in the evening of the last day of the month in London is the first of the next in India.
      const atMs = Date.UTC(2025, 0, 31, 18, 30)
      const caller = { enterpriseId: 'acme', departmentId: 'lab', memberId: 'ada', providerId: 'ten letter', usage }
      const first = journal.writer('front-1')
      first.write(anEnd('a', { ...caller, atMs }), anEnd('b', { ...caller, atMs: atMs - 1 }))
      journal.writer('front-2').write(anEnd('c', { ...caller, atMs, departmentId: 'research', memberId: null }))
      await settler.drain()
      first.write(anEnd('d', { ...caller, atMs }), anEnd('e', { ...caller, atMs, usage: emptyUsage() }))
      journal.endWriter('front-1')
      await settler.drain()

      expect(endedWriters).toEqual(['front-1'])
      const uses = await database.query<{ use: string }>(
        `SELECT concat_ws(' ', budget, writer, cost_micro, tokens) AS use FROM budget_use ORDER BY budget, writer`,
      )
      expect(uses.map(({ use }) => use)).toEqual([
        'department:lab:2025-01  100 15',
        'department:lab:2025-02  200 30',
        'department:research:2025-01  100 15',
        'department:research:2025-02  200 30',
        'department:research:2025-02 node-1/front-2 100 15',
        'enterprise:acme:2025-01  100 15',
        'enterprise:acme:2025-02  200 30',
        'enterprise:acme:2025-02 node-1/front-2 100 15',
        'key:key-1:2025-01  100 15',
        'key:key-1:2025-02  200 30',
        'key:key-1:2025-02 node-1/front-2 100 15',
        'member:ada:2025-01  100 15',
        'member:ada:2025-02  200 30',
        'wallet:acme  300 45',
        'wallet:acme node-1/front-2 100 15',
      ])
      const posted = await database.query(
        `SELECT account, sum(amount_micro)::int8 AS amount FROM ledger_entries WHERE enterprise_id = 'acme'
          GROUP BY account ORDER BY account`,
      )
      expect(posted).toEqual([
        { account: 'usage', amount: 400 },
        { account: 'wallet', amount: -400 },
      ])
      expect(await database.query('SELECT * FROM wallets')).toEqual([
        { enterprise_id: 'acme', credited_micro: 0, charged_micro: 400, charged_before_micro: 0 },
      ])
      expect(await reconcile(database)).toEqual({
        enterprises: [{ enterpriseId: 'acme', log: 400n, ledger: 400n, wallet: 400n, budgets: 400n }],
        drifts: [],
      })
    })

    it('counts requests for the budgets that are for their model, of all who pay', async () => {
      const budget = { moneyMicro: 1_000, tokens: null }
      tenants = {
        ...NO_TENANTS,
        departments: new Map([
          ['lab', { parentId: 'research', budget: NO_BUDGET }],
          ['research', { parentId: null, budget: NO_BUDGET }],
        ]),
        modelBudgets: new Map([
          ['department:research', [{ models: ['dear-*'], ...budget }]],
          ['key:key-1', [{ models: ['other', 'group'], ...budget }]],
        ]),
        modelNames: new ModelNames({
          aliases: [['best', 'dear-1']],
          groups: [{ id: 'group', models: ['dear-1'] }],
        }),
      }
      const usage = { ...anEnd('a').usage, promptTokens: 5, completionTokens: 10 }
      const caller = { departmentId: 'lab', providerId: 'ten letter', usage, atMs: Date.UTC(2025, 0, 15) }
      const asked = ['best', 'dear-1', 'dear-2', 'other', 'cheap', null]
      journal.writer('front-1').write(...asked.map((model, index) => anEnd(`r${index}`, { ...caller, model })))
      await settler.drain()

      const names = {
        department: modelBudgetName(['dear-*'], 'department', 'research', '2025-01'),
        key: modelBudgetName(['group', 'other'], 'key', 'key-1', '2025-01'),
      }
      const uses = await database.query<{ budget: string; use: string }>(
        `SELECT budget, concat_ws(' ', cost_micro, tokens) AS use FROM budget_use
          WHERE budget LIKE 'models:%' OR budget = 'key:key-1:2025-01'`,
      )
      expect(Object.fromEntries(uses.map(({ budget: name, use }) => [name, use]))).toEqual({
        [names.department]: '300 45',
        [names.key]: '300 45',
        'key:key-1:2025-01': '600 90',
      })
      expect((await reconcile(database)).drifts.filter(({ what }) => what.startsWith('spent by a key'))).toEqual([])
    })

    it('catches up with what was there, however much is written meanwhile', async () => {
      const writer = journal.writer('front-1')
      for (let i = 0; i < 20; i++) writer.write(anEnd(`before-${i}`))
      let more = 0
      const busy: Database = {
        ...database,
        transaction: async (work) => {
          const result = await database.transaction(work)
          writer.write(anEnd(`meanwhile-${(more += 1)}`))
          return result
        },
      }
      await restart(busy, 5)
      await settler.catchUp()
      expect((await ids()).filter((id) => id.startsWith('before'))).toHaveLength(20)
    })

    it('catches up when its files could not be listed at first, and reports that', async () => {
      journal.writer('front-1').write(anEnd('a'))
      const loop = join(journal.directory, 'front-2-00000001.seg')
      symlinkSync(loop, loop)
      const caughtUp = settler.catchUp()
      await eventually(() => expect(errors).toContain('the journal cannot be settled; trying again'))
      rmSync(loop)
      await caughtUp
      expect(await ids()).toEqual(['a'])
    })

    it('does nothing twice, in one process or after a restart', async () => {
      const writer = journal.writer('front-1')
      writer.write(anEnd('a'))
      await settler.drain()
      await settler.drain()
      await restart()
      await settler.drain()
      writer.write(anEnd('b'))
      await settler.drain()
      expect(await ids()).toEqual(['a', 'b'])
      await expectRollupsToMatch(database)
    })

    it('keeps a begin open across batches and restarts until its end comes', async () => {
      const writer = journal.writer('front-1')
      writer.write(aBegin('a'))
      await settler.drain()
      expect(await count('journal_open')).toBe(1)
      await restart()
      writer.rotate()
      writer.write(anEnd('a'))
      await settler.drain()
      expect(await ids()).toEqual(['a'])
      expect(await count('journal_open')).toBe(0)
    })

    it('waits at every torn byte of the last frame, and takes it once it is whole', async () => {
      const writer = journal.writer('front-1')
      writer.write(anEnd('a'))
      await settler.drain()
      const whole = writer.sizeBytes()
      const frame = framesOf(anEnd('b'))
      for (let bytes = 0; bytes < frame.length; bytes++) {
        writer.truncate(whole)
        writer.writeBytes(frame.subarray(0, bytes))
        await settler.drain()
      }
      expect(await ids()).toEqual(['a'])
      writer.truncate(whole)
      writer.writeBytes(frame)
      await settler.drain()
      expect(await ids()).toEqual(['a', 'b'])
      expect(await letters()).toEqual([])
    })

    it('gives up the torn end of a dead writer at every byte, and nothing else', async () => {
      const frame = framesOf(anEnd('torn'))
      for (let bytes = 0; bytes < frame.length; bytes++) {
        const writer = journal.writer(`front-${bytes}`)
        writer.write(anEnd(`whole-${String(bytes).padStart(4, '0')}`))
        writer.writeBytes(frame.subarray(0, bytes))
        journal.endWriter(`front-${bytes}`)
      }
      await settler.drain()
      expect(await ids()).toHaveLength(frame.length)
      expect(await ids()).not.toContain('torn')
      expect(warnings.filter((warning) => warning.startsWith('torn'))).toHaveLength(frame.length - 1)
      expect(await letters()).toEqual([])
      expect(journal.files()).toEqual([])
      expect(await count('journal_offsets')).toBe(0)
    })

    it('makes interrupted rows of what a dead writer left open, and deletes its segments', async () => {
      const writer = journal.writer('front-1')
      writer.write(aBegin('a'), aBegin('b'))
      await settler.drain()
      writer.rotate()
      writer.write(aBegin('c'), anEnd('a'))
      journal.endWriter('front-1')
      await settler.drain()
      expect(await rows()).toEqual([
        { id: 'a', status: 200, settlement: 'exact' },
        { id: 'b', status: null, settlement: 'interrupted' },
        { id: 'c', status: null, settlement: 'interrupted' },
      ])
      expect(journal.files()).toEqual([])
      expect(await count('journal_open')).toBe(0)
      expect(await count('journal_offsets')).toBe(0)
      await expectRollupsToMatch(database)
    })

    it('never interrupts the requests of a living writer', async () => {
      journal.writer('front-1').write(aBegin('a'))
      journal.writer('front-2').write(aBegin('b'))
      journal.endWriter('front-2')
      await settler.drain()
      expect(await ids()).toEqual(['b'])
    })

    it('reads a segment that appears between the listing and the death of its writer', async () => {
      const writer = journal.writer('front-1')
      writer.write(aBegin('a'))
      await settler.drain()
      // The last thing the writer does before it is found dead is to rotate and end the request: a listing made before lacks it.
      let asked = 0
      const isWriterAlive = (header: { writer: string }): boolean => {
        asked += 1
        if (asked === 2) {
          writer.rotate()
          writer.write(anEnd('a'))
          journal.endWriter('front-1')
        }
        return journal.isWriterAlive(header)
      }
      await settler.stop()
      settler = createSettler({
        database,
        journalDirectory: journal.directory,
        node: NODE,
        priceOf,
        tenants: () => tenants,
        onWriterEnded: (writer) => endedWriters.push(writer),
        clock: { now: () => nowMs, monotonicUs: () => 0 },
        isWriterAlive,
        logger: { info: () => undefined, warn: () => undefined, error: () => undefined },
      })
      await settler.drain()
      await settler.drain()
      await settler.drain()
      expect(await rows()).toEqual([{ id: 'a', status: 200, settlement: 'exact' }])
      expect(journal.files()).toEqual([])
    })

    it('deletes sealed segments of a living writer, and keeps the one being written', async () => {
      const writer = journal.writer('front-1')
      for (const id of ['a', 'b', 'c']) {
        writer.write(anEnd(id))
        if (id !== 'c') writer.rotate()
      }
      await settler.drain()
      expect(await ids()).toEqual(['a', 'b', 'c'])
      expect(journal.files()).toEqual(['front-1-00000003.seg'])
      expect(await count('journal_offsets')).toBe(1)
    })

    it('settles a segment of an earlier version to the rows that that version made of it', async () => {
      const name = 'front-1-00000001.seg'
      copyFileSync(fileURLToPath(new URL(name, EARLIER)), join(journal.directory, name))
      journal.endWriter('front-1')
      await settler.drain()
      const page = await listLogRows(database, { kind: 'everyone' }, {}, { limit: 100, after: null })
      const found = page.rows.toSorted((a, b) => (a.id < b.id ? -1 : 1))
      const made = JSON.parse(readFileSync(new URL('rows.json', EARLIER), 'utf8')) as Array<Record<string, unknown>>
      // Fields of later versions are null.
      const expected = made.map((row) => Object.fromEntries(LOG_COLUMNS.map(({ name }) => [name, row[name] ?? null])))
      expect(found).toEqual(expected)
      expect(await letters()).toEqual([])
      expect(journal.files()).toEqual([])
    })

    it('takes a fair share of each writer and the segments of each in order', async () => {
      const writers = [journal.writer('front-1'), journal.writer('front-2'), journal.writer('front-3')]
      for (let i = 0; i < 90; i++) {
        const writer = writers[i % 3]
        writer?.write(aBegin(`r${i}`))
        if (i % 20 < 3) writer?.rotate()
        writer?.write(anEnd(`r${i}`))
      }
      await restart(database, 7)
      await settler.drain()
      expect(await ids()).toHaveLength(90)
      expect(await count('journal_open')).toBe(0)
      await expectRollupsToMatch(database)
    })

    it('is exactly once when the process ends at any statement of a settlement', async () => {
      let steps = 0
      for (const moment of ['before', 'after'] as const) {
        for (let step = moment === 'before' ? 0 : 1, isOver = false; !isOver; step += EVERY, steps++) {
          await database.script(`TRUNCATE ${TABLES}`)
          journal.remove()
          journal = new TestJournal()
          const [first, second] = [journal.writer('front-1'), journal.writer('front-2')]
          first.write(aBegin('a'), aBegin('b'), anEnd('a'))
          second.write(aBegin('c'), anEnd('d'), anEnd('e', { totalUs: 2 ** 60 }))
          first.rotate()
          first.write(anEnd('b'), aBegin('f'))
          journal.endWriter('front-1')

          const faulty = faultyDatabase(database, step, moment)
          await restart(faulty.database, 3)
          // The process that is no more never comes back: its settler only sees failures.
          const drained = settler.drain().then(
            () => true,
            () => false,
          )
          isOver = await Promise.race([drained, faulty.crashed.then(() => false)])
          await restart(database, 3)
          await settler.drain()

          expect([moment, step, await rows()]).toEqual([
            moment,
            step,
            [
              { id: 'a', status: 200, settlement: 'exact' },
              { id: 'b', status: 200, settlement: 'exact' },
              { id: 'd', status: 200, settlement: 'exact' },
              { id: 'f', status: null, settlement: 'interrupted' },
            ],
          ])
          expect(await letters()).toHaveLength(1)
          expect(await count('journal_open')).toBe(1)
          expect(await count('journal_offsets')).toBe(1)
          expect(journal.files()).toEqual(['front-2-00000001.seg'])
          await expectRollupsToMatch(database)
        }
      }
      expect(steps * EVERY).toBeGreaterThan(40)
    })

    it('is exactly once when the answer to every commit is lost, in one process', async () => {
      const writer = journal.writer('front-1')
      for (let i = 0; i < 40; i++) writer.write(aBegin(`r${i}`), anEnd(`r${i}`))
      let commits = 0
      const lossy: Database = {
        ...database,
        transaction: async (work) => {
          const result = await database.transaction(work)
          commits += 1
          if (commits % 2 === 1) throw new Error('connection lost')
          return result
        },
      }
      await restart(lossy, 9)
      await settler.drain()
      expect(await ids()).toHaveLength(40)
      expect(await letters()).toEqual([])
      await expectRollupsToMatch(database)
    })

    it('goes on for ever through failures of the database, and settles when it is back', async () => {
      const writer = journal.writer('front-1')
      writer.write(anEnd('a'))
      let failures = 0
      const full: Database = {
        ...database,
        transaction: (work) => {
          failures += 1
          if (failures > 30) return database.transaction(work)
          return database.transaction((tx) =>
            tx.query(`DO $$ BEGIN RAISE 'full' USING ERRCODE = '53100'; END $$`),
          ) as never
        },
      }
      await restart(full)
      await settler.drain()
      expect(failures).toBeGreaterThan(30)
      expect(await ids()).toEqual(['a'])
      expect(await letters()).toEqual([])
    })

    it('tells how far behind it is while the database is away', async () => {
      const writer = journal.writer('front-1')
      writer.write(anEnd('a'))
      await settler.drain()
      let isAway = true
      const gone = () => Promise.reject(new Error('connection refused'))
      await restart({
        ...database,
        query: (...query) => (isAway ? gone() : database.query(...query)),
        transaction: (work) => (isAway ? gone() : database.transaction(work)),
      })
      settler.start()
      writer.write(anEnd('b'))
      nowMs += 5_000
      const lag = await settler.measure()
      expect(lag.bytes).toBeGreaterThanOrEqual(framesOf(anEnd('b')).length)
      expect(lag.ageMs).toBeGreaterThanOrEqual(5_000)
      isAway = false
      await expect.poll(ids, { interval: 5 }).toEqual(['a', 'b'])
      await expect.poll(() => settler.measure(), { interval: 5 }).toEqual({ bytes: 0, records: 0, ageMs: 0 })
    })

    it('leaves the batch under way to the next one when it is stopped', async () => {
      const writer = journal.writer('front-1')
      writer.write(anEnd('a'), anEnd('b'))
      const stops: Array<Promise<void>> = []
      await restart({
        ...database,
        transaction: (work) =>
          database.transaction((tx) => {
            const script = (sql: string): Promise<void> => {
              if (stops.length === 0) stops.push(settler.stop())
              return tx.script(sql)
            }
            return work({ ...tx, script })
          }),
      })
      settler.start()
      await expect.poll(() => stops.length, { interval: 5 }).toBe(1)
      await Promise.all(stops)
      expect(await ids()).toEqual([])
      expect(await count('journal_offsets')).toBe(0)
      await restart()
      await settler.drain()
      expect(await ids()).toEqual(['a', 'b'])
      await expectRollupsToMatch(database)
    })

    it('refuses to settle beside another settler of the node', async () => {
      const writer = journal.writer('front-1')
      writer.write(anEnd('a'))
      await settler.drain()
      const other = settlerOn(database)
      await other.drain()
      writer.write(anEnd('b'), anEnd('c'))
      await Promise.all([settler.drain(), other.drain()])
      await other.stop()
      expect(await ids()).toEqual(['a', 'b', 'c'])
      expect(await letters()).toEqual([])
      await expectRollupsToMatch(database)
    })

    it('sets a row aside that the database refuses, and keeps all others', async () => {
      await database.script(`
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN IF NEW.model = 'cursed' THEN RAISE 'no such model' USING ERRCODE = '22023'; END IF; RETURN NEW; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON request_log FOR EACH ROW EXECUTE FUNCTION refuse()`)
      try {
        const writer = journal.writer('front-1')
        for (let i = 0; i < 50; i++) {
          const model = i === 17 || i === 31 || i === 49 ? 'cursed' : 'fine'
          writer.write(aBegin(`r${i}`, { model }), anEnd(`r${i}`, { model }))
        }
        writer.write(aBegin('open', { model: 'cursed' }), aBegin('open-2'))
        journal.endWriter('front-1')
        await settler.drain()
        // r17, r31 and r49 began and can neither end nor be interrupted: one letter for the end, one for the open begin.
        expect(await ids()).toHaveLength(48)
        const reasons = (await letters()).map(({ reason }) => reason)
        expect(reasons).toEqual(Array.from({ length: 7 }, () => 'no such model'))
        expect(journal.files()).toEqual([])
        await expectRollupsToMatch(database)
      } finally {
        await database.script('DROP TRIGGER refuse ON request_log; DROP FUNCTION refuse')
      }
    })

    describe('a dead letter that is retried', () => {
      /** As the management API does: taken and settled in one transaction. Null: somebody else has it. */
      const retry = async (position: number): Promise<RetriedLetter | null> => {
        const scope = new TransactionScope(database)
        return scope.run(async () => {
          const letter = await takeDeadLetter(scope, { node: NODE, segment: 'front-1-00000001.seg', position })
          if (letter === null) return null
          return retryDeadLetter(scope, letter, {
            node: NODE,
            clock: { now: () => nowMs, monotonicUs: () => 0 },
            retentionDays: 30,
            priceOf,
            tenants: () => tenants,
            hasSegments: (writer) => settler.hasSegments(writer),
          })
        })
      }
      const usage = { ...anEnd('a').usage, promptTokens: 5, completionTokens: 10 }
      let cursed: { model: string; enterpriseId: string; providerId: string; usage: typeof usage }
      let looms = 0
      const charged = () =>
        database.query(
          `SELECT charged_micro, (SELECT sum(cost_micro)::int8 FROM budget_use WHERE budget = 'wallet:' || $1) AS used,
              (SELECT count(*)::int4 FROM ledger_transactions WHERE enterprise_id = $1) AS posted
            FROM wallets WHERE enterprise_id = $1`,
          [cursed.enterpriseId],
        )

      beforeEach(async () => {
        nowMs = anEnd('a').atMs
        const enterprise = { timeZone: 'UTC', budget: NO_BUDGET, creditedMicro: null }
        // The ledger of the ones before stays.
        looms += 1
        cursed = { model: 'cursed', enterpriseId: `looms-${looms}`, providerId: 'ten letter', usage }
        tenants = { ...NO_TENANTS, enterprises: new Map([[cursed.enterpriseId, enterprise]]) }
        await database.script(`
          CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN IF NEW.model = 'cursed' THEN RAISE 'no such model' USING ERRCODE = '22023'; END IF; RETURN NEW; END $$;
          CREATE TRIGGER refuse BEFORE INSERT ON request_log FOR EACH ROW EXECUTE FUNCTION refuse()`)
      })
      const allow = () =>
        database.script('DROP TRIGGER IF EXISTS refuse ON request_log; DROP FUNCTION IF EXISTS refuse')
      afterEach(allow)

      it('becomes one row with its sums and charges, however often it is retried', async () => {
        journal.writer('front-1').write(aBegin('a', cursed), anEnd('a', cursed), anEnd('b'))
        await settler.drain()
        const [letter] = await letters()
        const position = letter?.position ?? 0
        await expect(retry(position)).rejects.toThrow('no such model')
        expect([await ids(), await letters()]).toEqual([['b'], [letter]])
        await allow()
        const tries = await Promise.all(Array.from({ length: 6 }, () => retry(position)))
        const { enterpriseId } = cursed
        const budgets = ['key:key-1:2025-01', `enterprise:${enterpriseId}:2025-01`, `wallet:${enterpriseId}`]
        expect(tries.filter((one) => one !== null)).toEqual([
          { requestId: 'a', costMicro: 100, isInterrupted: false, budgets },
        ])
        expect(await retry(position)).toBeNull()
        expect(await charged()).toEqual([{ charged_micro: 100, used: 100, posted: 1 }])
        // The end of its process has nothing left to interrupt.
        journal.endWriter('front-1')
        await settler.drain()
        expect(await rows()).toMatchObject([{ id: 'a', settlement: 'exact' }, { id: 'b' }])
        expect([await letters(), await count('journal_open')]).toEqual([[], 0])
        await expectRollupsToMatch(database)
      })

      it('takes the place of the row that says that its request was interrupted', async () => {
        journal.writer('front-1').write(aBegin('a', cursed), anEnd('a', cursed))
        await settler.drain()
        const [letter] = await letters()
        await allow()
        journal.endWriter('front-1')
        await settler.drain()
        expect(await rows()).toEqual([{ id: 'a', status: null, settlement: 'interrupted' }])
        expect(await retry(letter?.position ?? 0)).toMatchObject({ requestId: 'a', costMicro: 100 })
        expect(await rows()).toEqual([{ id: 'a', status: 200, settlement: 'exact' }])
        expect(await charged()).toEqual([{ charged_micro: 100, used: 100, posted: 1 }])
        await expectRollupsToMatch(database)
      })

      it('is refused when the log has its request, when it may still end, when it is too old, and when it is damaged', async () => {
        const writer = journal.writer('front-1')
        const from = writer.sizeBytes()
        writer.write(aBegin('open', cursed))
        const second = writer.sizeBytes()
        writer.write(anEnd('b'), anEnd('c'))
        flipByte(writer, second + 30)
        await settler.drain()
        const [damaged] = await letters()
        await expect(retry(damaged?.position ?? 0)).rejects.toThrow('not a record')
        journal.endWriter('front-1')
        await settler.drain()
        await allow()
        expect(await letters()).toMatchObject([{ position: from }, { position: second }])
        nowMs += 32 * 86_400_000
        await expect(retry(from)).rejects.toThrow('older')
        nowMs -= 32 * 86_400_000
        const again = journal.writer('front-1')
        await expect(retry(from)).rejects.toThrow('may still end')
        rmSync(again.path)
        expect(await retry(from)).toEqual({ requestId: 'open', costMicro: 0, isInterrupted: true, budgets: [] })
        await expectRollupsToMatch(database)
        const doubled = {
          segment: 'front-1-00000001.seg',
          position: from,
          reason: 'a copy',
          bytes: framesOf(aBegin('open')),
        }
        await addDeadLetters(database, NODE, [doubled])
        await expect(retry(from)).rejects.toThrow('has this request already')
        expect((await letters()).map(({ reason }) => reason)).toEqual(['a copy', 'wrong checksum'])
      })
    })

    it('sets aside what no row can hold, with the bytes of its frame', async () => {
      const writer = journal.writer('front-1')
      const bad = anEnd('bad', { totalUs: 2 ** 60 })
      writer.write(anEnd('a'), bad, anEnd('b'))
      writer.writeBytes(frameAround(Buffer.from('a0', 'hex')))
      writer.write(anEnd('c', { atMs: 1e15 }), anEnd('d'))
      await settler.drain()
      expect(await ids()).toEqual(['a', 'b', 'd'])
      const [first, ...others] = await letters()
      expect(first?.reason).toContain('totalUs')
      expect(first?.bytes.equals(framesOf(bad))).toBe(true)
      expect(others).toHaveLength(2)
    })

    it('sets the second of two rows with the same id and time aside', async () => {
      journal.writer('front-1').write(anEnd('a'), anEnd('a'), anEnd('b'))
      await settler.drain()
      expect(await ids()).toEqual(['a', 'b'])
      expect(await letters()).toHaveLength(1)
      await expectRollupsToMatch(database)
    })

    it('stores texts with NUL and half surrogate pairs', async () => {
      const text = 'a\0b\ud800c'
      journal.writer('front-1').write(anEnd('a', { model: text, userAgent: text, clientRequestId: text, keyId: text }))
      await settler.drain()
      expect(await ids()).toEqual(['a'])
      expect(await letters()).toEqual([])
    })

    it('loses one frame to a wrong checksum when the next one is good', async () => {
      const writer = journal.writer('front-1')
      writer.write(anEnd('a'))
      const from = writer.sizeBytes()
      writer.write(anEnd('b'), anEnd('c'))
      flipByte(writer, from + 30)
      await settler.drain()
      expect(await ids()).toEqual(['a', 'c'])
      expect(await letters()).toMatchObject([{ segment: 'front-1-00000001.seg', position: from }])
    })

    it('waits with a damaged length while its writer lives, and finds the next frame when it is dead', async () => {
      const writer = journal.writer('front-1')
      writer.write(anEnd('a'))
      const from = writer.sizeBytes()
      writer.write(anEnd('b'), anEnd('c'), anEnd('d'))
      for (const offset of [from + 3, from + 1]) flipByte(writer, offset)
      await settler.drain()
      expect(await ids()).toEqual(['a'])
      journal.endWriter('front-1')
      await settler.drain()
      expect(await ids()).toEqual(['a', 'c', 'd'])
      expect(await letters()).toHaveLength(1)
      expect(journal.files()).toEqual([])
    })

    it('sets the rest of a sealed segment aside when nothing in it is whole', async () => {
      const writer = journal.writer('front-1')
      writer.write(anEnd('a'))
      writer.writeBytes(Buffer.alloc(3 * 1024 * 1024, 0xff))
      writer.rotate()
      writer.write(anEnd('b'))
      await settler.drain()
      expect(await ids()).toEqual(['a', 'b'])
      const bytes = (await letters()).reduce((sum, letter) => sum + letter.bytes.length, 0)
      expect(bytes).toBe(3 * 1024 * 1024)
      expect(journal.files()).toEqual(['front-1-00000002.seg'])
    })

    it('takes frames larger than what it reads at once', async () => {
      const userAgent = 'x'.repeat(3 * 1024 * 1024)
      journal.writer('front-1').write(anEnd('a'), anEnd('large', { userAgent }), anEnd('b'))
      await settler.drain()
      expect(await ids()).toEqual(['a', 'b', 'large'])
    })

    it('deletes a segment without a header once its writer had ten minutes to write one', async () => {
      const empty = join(journal.directory, 'front-9-00000001.seg')
      writeFileSync(empty, 'SLUI')
      writeFileSync(join(journal.directory, 'front-8-00000001.seg'), 'not a segment at all')
      writeFileSync(join(journal.directory, 'unrelated.txt'), '')
      await settler.drain()
      expect(journal.files()).toHaveLength(3)
      nowMs += 11 * 60_000
      await settler.drain()
      expect(journal.files()).toEqual(['unrelated.txt'])
      expect((await letters()).map((letter) => letter.bytes.toString())).toEqual(['not a segment at all'])
    })

    it('does not take the offset of an earlier file for that of a new one of the same name', async () => {
      const writer = journal.writer('front-1')
      writer.write(anEnd('a'), anEnd('b'))
      await settler.drain()
      const other = new TestJournal()
      const successor = other.writer('front-1')
      successor.rotate()
      successor.write(anEnd('c'))
      renameSync(successor.path, join(dirname(writer.path), basename(writer.path)))
      other.remove()
      await restart()
      await settler.drain()
      expect(await ids()).toEqual(['a', 'b', 'c'])
    })

    it('makes its partition anew when somebody dropped it', async () => {
      const writer = journal.writer('front-1')
      writer.write(anEnd('a'))
      await settler.drain()
      await database.script('DROP TABLE request_log_20250101')
      writer.write(anEnd('b'))
      await settler.drain()
      expect(await ids()).toEqual(['b'])
      expect(await letters()).toEqual([])
    })

    it('settles in the background from start to stop, and tells how far behind it is', async () => {
      const writer = journal.writer('front-1')
      writer.write(anEnd('a'))
      settler.start()
      await expect.poll(ids, { interval: 5 }).toEqual(['a'])
      writer.write(anEnd('b'))
      await expect.poll(ids, { interval: 5 }).toEqual(['a', 'b'])
      await expect.poll(() => settler.lag(), { interval: 5 }).toEqual({ bytes: 0, records: 0, ageMs: 0 })
      await settler.stop()
      await expect(settler.drain()).rejects.toThrow('stopped')

      writer.write(anEnd('c'))
      const broken = { ...database, transaction: () => Promise.reject(new Error('away')) }
      settler = settlerOn(broken)
      nowMs += 5_000
      settler.start()
      await expect.poll(() => settler.lag().bytes, { interval: 5 }).toBe(framesOf(anEnd('c')).length)
      expect(settler.lag().records).toBeGreaterThan(0)
    })

    it('settles thousands of random records of interleaved writers, each exactly once', async () => {
      const seed = TEST_SEED
      const expected = seededJournal(journal, seed, records)
      await restart(database, 1_000)
      await settler.drain()
      const found = await rows()
      expect([seed, found.length]).toEqual([seed, expected.size])
      const wrong = found.filter(({ id, settlement }) => expected.get(id) !== settlement)
      expect([seed, wrong]).toEqual([seed, []])
      expect(await letters()).toEqual([])
      expect(await count('journal_open')).toBe(0)
      expect(journal.files()).toEqual([])
      await expectRollupsToMatch(database)
    }, 120_000)
  })
}

function flipByte(writer: TestWriter, offset: number): void {
  const bytes = readFileSync(writer.path)
  bytes.writeUInt8(bytes.readUInt8(offset) ^ 0xff, offset)
  writeFileSync(writer.path, bytes)
}

/** The sums of the hours are those of the rows, column by column. */
async function expectRollupsToMatch(database: Database): Promise<void> {
  const owners = ['key_id', 'user_id', 'enterprise_id', 'department_id', 'member_id']
  const group = [...owners, 'endpoint', 'status'].join(', ')
  const sums = ['prompt_tokens', 'completion_tokens', 'cached_tokens', 'cache_write_tokens', 'reasoning_tokens']
  const times = ['cost_micro', 'queue_us', 'ttft_us', 'total_us', 'overhead_us']
  const totals = [...sums, ...times].map((column) => `coalesce(sum(${column}), 0)::text AS ${column}`).join(', ')
  const of = owners.map((column) => `coalesce(${column}, '') AS ${column}`).join(', ')
  const by = Array.from({ length: owners.length + 3 }, (_, index) => index + 1).join(', ')
  const ofRows = await database.query(
    `SELECT date_trunc('hour', at) AS hour, ${of}, endpoint, coalesce(status, 0) AS status,
        count(*)::text AS requests, count(*) FILTER (WHERE aborted)::text AS aborted, count(ttft_us)::text AS ttft_count,
        ${totals}
      FROM request_log GROUP BY ${by} ORDER BY ${by}`,
  )
  const ofRollups = await database.query(
    `SELECT date_trunc('hour', hour, 'UTC') AS hour, ${group}, sum(requests)::text AS requests, sum(aborted)::text AS aborted,
        sum(ttft_count)::text AS ttft_count, ${totals}
      FROM request_rollup_hourly GROUP BY ${by} ORDER BY ${by}`,
  )
  expect(ofRollups).toEqual(ofRows)

  const tables: ReadonlyArray<readonly [owner: string, which: string]> = [
    ["'*'", '='],
    ['enterprise_id', '<>'],
  ]
  for (const [owner, which] of tables) {
    const all = [...sums, ...times, 'requests', 'aborted', 'ttft_count'].map(
      (column) => `sum(${column})::text AS ${column}`,
    )
    const ofHours = await database.query(
      `SELECT ${owner} AS owner, date_trunc('day', hour, 'UTC') AS day, model, endpoint, status, ${all.join(', ')}
        FROM request_rollup_hourly GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5`,
    )
    const ofDays = await database.query(
      `SELECT enterprise_id AS owner, day, model, endpoint, status, ${all.join(', ')}
        FROM request_rollup_daily WHERE enterprise_id ${which} '*' GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5`,
    )
    expect(ofDays).toEqual(ofHours)
    const upstream = 'provider_id, upstream_key_id'
    const ofUpstreams = await database.query(
      `SELECT ${owner === 'enterprise_id' ? "coalesce(enterprise_id, '')" : owner} AS owner, date_trunc('hour', at) AS hour,
          endpoint, coalesce(status, 0) AS status, coalesce(provider_id, '') AS provider_id,
          coalesce(upstream_key_id, '') AS upstream_key_id, count(*)::text AS requests, ${totals}
        FROM request_log GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6`,
    )
    const ofEnterprises = await database.query(
      `SELECT enterprise_id AS owner, date_trunc('hour', hour, 'UTC') AS hour, endpoint, status, ${upstream},
          sum(requests)::text AS requests, ${totals}
        FROM enterprise_rollup_hourly WHERE enterprise_id ${which} '*' GROUP BY 1, 2, 3, 4, 5, 6
        ORDER BY 1, 2, 3, 4, 5, 6`,
    )
    expect(ofEnterprises).toEqual(ofUpstreams)
  }
  await expectStatisticsToMatch(database)
}

const IS_ERROR = '(status IS NULL OR status >= 400)'

/** What keys and upstream keys did, and how many requests took how long, is what the rows say. */
async function expectStatisticsToMatch(database: Database): Promise<void> {
  const tokens = ['prompt_tokens', 'completion_tokens', 'cost_micro']
  const used = tokens.map((column) => `sum(${column})::text AS ${column}`).join(', ')
  const callers = ['key_id', 'user_id', 'enterprise_id', 'department_id', 'member_id']
  const ofKeys = [
    ...tokens,
    'cached_tokens',
    'cache_write_tokens',
    'reasoning_tokens',
    'queue_us',
    'total_us',
    'overhead_us',
  ]
  const keysOfRows = await database.query(
    `SELECT date_trunc('day', at, 'UTC') AS day, ${callers.map((id) => `coalesce(${id}, '') AS ${id}`).join(', ')},
        max(at) AS last_used_at, count(*)::text AS requests, count(*) FILTER (WHERE ${IS_ERROR})::text AS errors,
        count(*) FILTER (WHERE aborted)::text AS aborted, coalesce(sum(ttft_us), 0)::text AS ttft_us,
        count(ttft_us)::text AS ttft_count, ${ofKeys.map((column) => `sum(${column})::text AS ${column}`).join(', ')}
      FROM request_log GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6`,
  )
  const keys = await database.query(
    `SELECT day, ${callers.join(', ')}, last_used_at, requests::text, errors::text, aborted::text, ttft_us::text,
        ttft_count::text, ${ofKeys.map((column) => `${column}::text`).join(', ')}
      FROM key_rollup_daily ORDER BY 1, 2, 3, 4, 5, 6`,
  )
  expect(keys).toEqual(keysOfRows)

  const more = ['cached_tokens', 'total_us']
  const upstreamsOfRows = await database.query(
    `SELECT date_trunc('hour', at) AS hour, provider_id, upstream_key_id, count(*)::text AS requests,
        count(*) FILTER (WHERE ${IS_ERROR})::text AS errors, count(*) FILTER (WHERE aborted)::text AS aborted,
        coalesce(sum(ttft_us), 0)::text AS ttft_us, count(ttft_us)::text AS ttft_count, ${used},
        ${more.map((column) => `sum(${column})::text AS ${column}`).join(', ')}
      FROM request_log WHERE provider_id IS NOT NULL AND upstream_key_id IS NOT NULL GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
  )
  const upstreams = await database.query(
    `SELECT hour, provider_id, upstream_key_id, requests::text, errors::text, aborted::text, ttft_us::text, ttft_count::text,
        ${[...tokens, ...more].map((column) => `${column}::text`).join(', ')}
      FROM upstream_rollup_hourly ORDER BY 1, 2, 3`,
  )
  expect(upstreams).toEqual(upstreamsOfRows)

  const rows = await database.query<{ hour: Date; overhead: number; total: number; ttft: number | null }>(
    `SELECT date_trunc('hour', at) AS hour, overhead_us AS overhead, total_us AS total, ttft_us AS ttft
      FROM request_log WHERE provider_id IS NOT NULL AND upstream_key_id IS NOT NULL`,
  )
  const counts = new Map<string, number>()
  for (const { hour, ...taken } of rows) {
    for (const [measure, durationUs] of Object.entries(taken)) {
      if (durationUs === null) continue
      const name = `${hour.toISOString()} ${measure} ${bucketOf(durationUs)}`
      counts.set(name, (counts.get(name) ?? 0) + 1)
    }
  }
  const stored = await database.query<{ hour: Date; measure: string; bucket: number; requests: number }>(
    'SELECT hour, measure, bucket, requests FROM timing_rollup_hourly',
  )
  const timings = stored.map(
    ({ hour, measure, bucket, requests }) => [`${hour.toISOString()} ${measure} ${bucket}`, requests] as const,
  )
  expect(new Map(timings)).toEqual(counts)
}
