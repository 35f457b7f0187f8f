import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { newRequestId } from '../../src/shared/core/request-id.ts'
import { NO_LIMITS } from '../../src/shared/core/snapshot.ts'
import type { EntryKey } from '../../src/shared/core/snapshot.ts'
import { MAX_ENTERPRISE_KEYS } from '../../src/shared/api/operations/enterprise-keys.ts'
import { MAX_USER_KEYS } from '../../src/shared/api/operations/keys.ts'
import { enterpriseKeyHandlers } from '../../src/control/management/enterprise-key-handlers.ts'
import { keyHandlers } from '../../src/control/management/key-handlers.ts'
import { ModelBudgets } from '../../src/control/management/model-budgets.ts'
import type { UpstreamParts } from '../../src/control/management/upstream-handlers.ts'
import { LogKeeper } from '../../src/control/settlement/log-keeper.ts'
import { rowOfEnd, rowOfInterrupted } from '../../src/control/settlement/rows.ts'
import type { Database, Queryable } from '../../src/control/store/database.ts'
import {
  insertEntryKey,
  keepDeclaredKeys,
  listEntryKeysForSnapshot,
  setEntryKeyStatus,
  snapshotVersion,
} from '../../src/control/store/entry-keys.ts'
import { addDeadLetters, countDeadLetters, listDeadLetters } from '../../src/control/store/journal.ts'
import { LogRows } from '../../src/control/store/log-rows.ts'
import type { LogRow } from '../../src/control/store/log-rows.ts'
import { migrate } from '../../src/control/store/migrate.ts'
import { keyDays } from '../../src/control/store/migrations/0031-key-days.ts'
import { DAY_MS, LogPartitions } from '../../src/control/store/partitions.ts'
import { isListed } from '../../src/control/store/log-match.ts'
import { LogTail } from '../../src/control/store/log-tail.ts'
import { countLogRows, findLogRow, listLogRows } from '../../src/control/store/request-log.ts'
import type { LogFilter, LogScope } from '../../src/control/store/log-filter.ts'
import type { LogCursor, LogPage } from '../../src/control/store/request-log.ts'
import { listLogDays } from '../../src/control/store/retention.ts'
import { Rollups } from '../../src/control/store/rollups.ts'
import { initialiseSetting, readSetting, writeSetting } from '../../src/control/store/settings.ts'
import { TransactionScope } from '../../src/control/store/transaction-scope.ts'
import type { User } from '../../src/control/store/users.ts'
import { countUsers, findUserByPhone, insertUser } from '../../src/control/store/users.ts'
import { aBegin, anEnd } from './journal-records.ts'
import { callOf } from '../support/call-of.ts'
import { firstCases } from '../support/dose.ts'
import { eventually } from '../support/eventually.ts'
import { namedRow } from './log-rows.ts'
import { fieldsOf } from './test-journal.ts'

const USER: User = {
  id: 'user-1',
  phone: '+8613800138000',
  name: 'Ada',
  passwordHash: '$argon2id$…',
  role: 'admin',
  status: 'active',
  email: null,
  emailVerifiedAt: null,
  sessionGeneration: 0,
}

const NODE = 'node-1'
const KEY: EntryKey = {
  id: 'key-1',
  digest: 'd1',
  masked: 'sk-AbCd…wXyZ',
  name: 'first',
  enabled: true,
  expiresAtMs: Date.UTC(2030, 0, 1, 0, 0, 0, 123),
  userId: null,
  enterpriseId: 'e1',
  departmentId: null,
  memberId: null,
  limits: { requestsPerMinute: 60, tokensPerMinute: 10_000_000_000, concurrency: null },
  userLimits: NO_LIMITS,
  enterpriseLimits: NO_LIMITS,
  models: ['gpt-4o', 'with "quotes", {braces}'],
  addresses: ['10.0.0.0/8'],
  clients: null,
}

const TRUNCATED =
  // With what refers to users and keys.
  'TRUNCATE entry_keys, users, settings, request_log, request_rollup_hourly, request_rollup_daily, enterprise_rollup_hourly, key_rollup_daily, upstream_rollup_hourly, timing_rollup_hourly, journal_dead_letters, audit_log CASCADE'
const EVERYONE: LogScope = { kind: 'everyone' }

/** Schema and queries, on either database. */
export function storeContract(open: () => Promise<Database>): void {
  describe('as a store', () => {
    let database: Database

    beforeAll(async () => {
      database = await open()
      await migrate(database)
    })
    beforeEach(() => database.script(TRUNCATED))
    afterAll(() => database.close())

    it('is migrated once', async () => {
      expect(await migrate(database)).toEqual([])
    })

    it('has a limit of the keys of a user and of an enterprise, also for those that are made at the same time', async () => {
      const scope = new TransactionScope(database)
      const parts = { keyHash: Buffer.alloc(32), mayCapture: false }
      const own = keyHandlers(scope, parts)
      const shared = enterpriseKeyHandlers(scope, parts, new ModelBudgets({} as UpstreamParts))
      const call = { caller: { userId: USER.id }, params: { id: 'e1' }, body: { name: 'k' } }
      const makeOwn = () => scope.run(() => own.createKey(callOf<'createKey'>(call)))
      const makeShared = () => scope.run(() => shared.createEnterpriseKey(callOf<'createEnterpriseKey'>(call)))
      await insertUser(database, USER)
      for (const [column, owner, most, make] of firstCases(1, [
        ['user_id', USER.id, MAX_USER_KEYS, makeOwn],
        ['enterprise_id', 'e1', MAX_ENTERPRISE_KEYS, makeShared],
      ] as const)) {
        await database.query(
          `INSERT INTO entry_keys (id, digest, masked, name, ${column}, status)
            SELECT $1 || n, $1 || n, 'sk-', 'k', $1, CASE WHEN n = 0 THEN 'deleted' ELSE 'disabled' END
            FROM generate_series(0, $2) AS n`,
          [owner, most - 1],
        )
        const made = await Promise.allSettled([make(), make()])
        expect(made.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
        await expect(make()).rejects.toMatchObject({ code: 'CONFLICT' })
        expect(await setEntryKeyStatus(database, `${owner}1`, 'deleted')).toBe(true)
        await make()
      }
    })

    it('rolls a failed migration back and applies it when it is mended', async () => {
      const known = await database.query<{ id: string }>('SELECT id FROM schema_migrations ORDER BY id')
      const before = known.map(({ id }) => ({ id, sql: '' }))
      const broken = { id: '9999-broken', sql: 'CREATE TABLE half (a int); SELECT 1 / 0' }
      await expect(migrate(database, [...before, broken])).rejects.toThrow('division by zero')
      const mended = { id: '9999-broken', sql: 'CREATE TABLE half (a int)' }
      expect(await migrate(database, [...before, mended])).toEqual(['9999-broken'])
      await expect(migrate(database)).rejects.toThrow('9999-broken')
      await database.script(`DROP TABLE half; DELETE FROM schema_migrations WHERE id = '9999-broken'`)
    })

    it('keeps entry keys as they were given', async () => {
      await insertEntryKey(database, KEY)
      expect(await listEntryKeysForSnapshot(database)).toEqual([KEY])
      await expect(insertEntryKey(database, { ...KEY, id: 'key-2' })).rejects.toMatchObject({ sqlState: '23505' })
    })

    it('leaves deleted keys out of the snapshot for good', async () => {
      await insertEntryKey(database, KEY)
      expect(await setEntryKeyStatus(database, KEY.id, 'disabled')).toBe(true)
      expect(await listEntryKeysForSnapshot(database)).toEqual([{ ...KEY, enabled: false }])
      expect(await setEntryKeyStatus(database, KEY.id, 'deleted')).toBe(true)
      expect(await setEntryKeyStatus(database, KEY.id, 'enabled')).toBe(false)
      await keepDeclaredKeys(database, NODE, [KEY])
      expect(await listEntryKeysForSnapshot(database)).toEqual([])
    })

    it('follows declared keys by digest, and writes nothing when nothing changed', async () => {
      await keepDeclaredKeys(database, NODE, [KEY])
      const changed = { ...KEY, id: 'another', name: 'renamed', models: null }
      await keepDeclaredKeys(database, NODE, [changed])
      expect(await listEntryKeysForSnapshot(database)).toEqual([{ ...changed, id: KEY.id }])
      const version = await snapshotVersion(database)
      await keepDeclaredKeys(database, NODE, [changed])
      expect(await snapshotVersion(database)).toBe(version)
    })

    it('turns no key off that another node declares', async () => {
      await keepDeclaredKeys(database, NODE, [KEY])
      await keepDeclaredKeys(database, 'node-2', [KEY])
      await keepDeclaredKeys(database, NODE, [])
      expect(await listEntryKeysForSnapshot(database)).toEqual([KEY])
      await keepDeclaredKeys(database, 'node-2', [])
      expect(await listEntryKeysForSnapshot(database)).toEqual([{ ...KEY, enabled: false }])
    })

    it('turns off keys that are declared no more, once', async () => {
      const other = { ...KEY, id: 'other', digest: 'd'.repeat(64) }
      await insertEntryKey(database, other)
      await keepDeclaredKeys(database, NODE, [KEY])
      await keepDeclaredKeys(database, NODE, [])
      const off = { ...KEY, enabled: false }
      expect(await listEntryKeysForSnapshot(database)).toEqual(expect.arrayContaining([off, other]))
      await setEntryKeyStatus(database, KEY.id, 'enabled')
      await keepDeclaredKeys(database, NODE, [])
      expect(await listEntryKeysForSnapshot(database)).toEqual(expect.arrayContaining([KEY, other]))
    })

    it('treats the keys of a disabled user as disabled', async () => {
      await insertUser(database, { ...USER, status: 'disabled' })
      await insertEntryKey(database, { ...KEY, userId: USER.id })
      expect(await listEntryKeysForSnapshot(database)).toEqual([{ ...KEY, userId: USER.id, enabled: false }])
    })

    it('raises and notifies the snapshot version with every change', async () => {
      const heard: string[] = []
      const end = await database.listen('sluice_snapshot', (payload) => heard.push(payload))
      const version = await snapshotVersion(database)
      await insertUser(database, USER)
      await insertEntryKey(database, KEY)
      expect(await snapshotVersion(database)).toBe(version + 2)
      await expect.poll(() => heard).toEqual([String(version + 1), String(version + 2)])
      await end()
    })

    it('finds users by phone, each phone once', async () => {
      expect(await countUsers(database)).toBe(0)
      await insertUser(database, USER)
      expect(await findUserByPhone(database, '+8613800138000')).toEqual(USER)
      expect(await findUserByPhone(database, '+1')).toBeNull()
      expect(await countUsers(database)).toBe(1)
      await expect(insertUser(database, { ...USER, id: 'user-2' })).rejects.toMatchObject({ sqlState: '23505' })
      await expect(insertUser(database, { ...USER, id: 'x', phone: '0138' })).rejects.toMatchObject({
        sqlState: '23514',
      })
    })

    it('keeps settings, and the first of two initial values', async () => {
      expect(await readSetting(database, 'a')).toBeUndefined()
      await writeSetting(database, 'a', { b: [1, null] })
      await writeSetting(database, 'a', 'text')
      expect(await readSetting(database, 'a')).toBe('text')
      expect(await initialiseSetting(database, 'a', 'other')).toBe('text')
      expect(await initialiseSetting(database, 'new', null)).toBeNull()
    })

    it('gives a row of the request log back as it was inserted', async () => {
      const fullMs = Date.UTC(2025, 0, 1, 12) + 1
      const full = row(newRequestId(fullMs), { atMs: fullMs, enterpriseId: 'e' })
      const bareMs = fullMs + DAY_MS
      const bareEnd = { atMs: bareMs, keyId: null, ttftUs: null, model: null, attempts: [] }
      const bare = row(newRequestId(bareMs), bareEnd)
      await insert([full, bare])
      expect(await findLogRow(database, EVERYONE, full.id)).toEqual(namedRow(full))
      expect(await findLogRow(database, EVERYONE, bare.id)).toEqual(namedRow(bare))
    })

    it('finds no row for an id that is not in the log, or is none', async () => {
      const atMs = Date.UTC(2025, 0, 1)
      await insert([row('made elsewhere', { atMs })])
      for (const id of [newRequestId(atMs), 'made elsewhere', '', 'req_', `${newRequestId(atMs)}\0`]) {
        expect([id, await findLogRow(database, EVERYONE, id)]).toEqual([id, null])
      }
    })

    it('shows nobody the rows of others', async () => {
      const atMs = Date.UTC(2025, 0, 1)
      const [a, b] = [newRequestId(atMs), newRequestId(atMs)]
      await insert([
        row(a, { atMs, userId: 'u1', enterpriseId: 'e1' }),
        row(b, { atMs, userId: 'u2', enterpriseId: 'e2' }),
      ])
      expect(await ids({ kind: 'user', userId: 'u1', memberIds: [] })).toEqual([a])
      expect(await ids({ kind: 'enterprise', enterpriseId: 'e2' })).toEqual([b])
      expect(await findLogRow(database, { kind: 'user', userId: 'u1', memberIds: [] }, a)).toMatchObject({ id: a })
      expect(await findLogRow(database, { kind: 'user', userId: 'u1', memberIds: [] }, b)).toBeNull()
      expect(await findLogRow(database, { kind: 'enterprise', enterpriseId: 'e1' }, b)).toBeNull()
    })

    it('pages through rows of one millisecond and many days, newest first, each once', async () => {
      const start = Date.UTC(2025, 0, 1)
      const rows = Array.from({ length: 25 }, (_, i) =>
        row(`r${String(i).padStart(2, '0')}`, { atMs: start + (i >> 3) * DAY_MS }),
      )
      await insert(rows)
      const seen: string[] = []
      let after: LogCursor | null = null
      do {
        const page: LogPage = await listLogRows(database, EVERYONE, {}, { limit: 4, after })
        seen.push(...page.rows.map(({ id }) => id))
        after = page.next
      } while (after !== null)
      expect(seen).toEqual(rows.map(({ id }) => id).reverse())
    })

    it('filters by everything the list offers, wildcards taken literally', async () => {
      const other = { keyId: 'k2', model: 'm2', userAgent: 'curl/8', clientRequestId: 'mine', traceId: 'trace-2' }
      const atMs = Date.UTC(2025, 0, 2)
      await insert([row('req_a'), row('req_b', { ...other, atMs, status: 429, errorType: 'rate_limit' })])
      for (const filter of [
        { keyId: 'k2' },
        { model: 'm2' },
        { status: 429 },
        { errorType: 'rate_limit' },
        { userAgent: 'url/' },
        { requestId: 'q_b' },
        { traceId: 'trace-2' },
        { requestId: 'in' },
        { fromMs: atMs },
        { fromMs: atMs, toMs: atMs + 1 },
      ]) {
        expect([filter, await ids(EVERYONE, filter)]).toEqual([filter, ['req_b']])
      }
      expect(await ids(EVERYONE, { toMs: atMs })).toEqual(['req_a'])
      expect(await ids(EVERYONE, { userAgent: '%%' })).toEqual([])
      expect(await ids(EVERYONE, { requestId: 'req%b' })).toEqual([])
      expect(await ids(EVERYONE, { model: 'm\0' })).toEqual([])
      await expect(ids(EVERYONE, { requestId: '%' })).rejects.toThrow(RangeError)
    })

    it('chooses rows in memory as the list does', async () => {
      const atMs = Date.UTC(2025, 0, 2)
      const red: readonly [string, string] = ['team', 'red']
      const blue: readonly [string, string] = ['team', 'blue']
      const ci: readonly [string, string] = ['env', 'ci']
      const tags = [red]
      const all = [
        row('req_a', { atMs }),
        row('req_b', { atMs, ...{ userId: null, enterpriseId: 'e1', memberId: 'm1', departmentId: 'd1' }, tags }),
        row('req_c', {
          atMs: atMs + 5,
          userId: 'u1',
          tags: [red, ci],
          clientRequestId: 'mine',
          model: 'm',
        }),
        row('req_d', {
          atMs,
          status: 503,
          errorType: 'server_error',
          providerId: null,
          upstreamKeyId: 'k',
          traceId: 't',
        }),
        rowOfInterrupted(fieldsOf(aBegin('req_e', { atMs, userAgent: 'curl/8', endpoint: 'messages' })), 'node'),
      ]
      await insert(all)
      const scopes: LogScope[] = [
        EVERYONE,
        { kind: 'user', userId: 'u1', memberIds: [] },
        { kind: 'user', userId: 'u1', memberIds: ['m1', 'm2'] },
        { kind: 'enterprise', enterpriseId: 'e1' },
      ]
      const filters: LogFilter[] = [
        {},
        ...[{ status: 0 }, { status: 503 }, { model: 'm' }, { endpoint: 'messages' }, { departmentId: 'd1' }],
        ...[
          { memberId: 'm1' },
          { enterpriseId: 'e1' },
          { keyId: 'key-1' },
          { providerId: 'openai' },
          { upstreamKeyId: 'k' },
        ],
        ...[
          { errorType: 'server_error' },
          { traceId: 't' },
          { userAgent: 'url/' },
          { requestId: 'min' },
          { requestId: '_b' },
        ],
        ...[{ fromMs: atMs + 1 }, { toMs: atMs + 5 }, { user: { userId: 'u1', memberIds: ['m1'] } }],
        ...[{ tags }, { tags: [red, blue] }, { tags: [red, ci] }],
      ]
      for (const scope of scopes) {
        for (const filter of filters) {
          const matching = all.map(namedRow).filter((one) => isListed(one, scope, filter))
          const expected = matching.map(({ id }) => id).sort()
          expect([scope, filter, (await ids(scope, filter)).sort()]).toEqual([scope, filter, expected])
          expect(await countLogRows(database, scope, filter, 100)).toBe(expected.length)
        }
      }
    })

    it('finds the rows that were added since the last look, whenever their requests began', async () => {
      const nowMs = Date.now()
      const at = (id: string, ms: number) => row(id, { atMs: ms })
      await insert([at('old', nowMs), at('older', nowMs - 60_000)])
      const tail = new LogTail()
      const read = async (laterMs: number): Promise<string[]> =>
        (await tail.read(database, nowMs + laterMs)).rows.map(({ id }) => id)
      expect(await read(0)).toEqual([])
      await insert([at('new', nowMs), at('long', nowMs - 6 * 3_600_000)])
      expect((await read(500)).sort()).toEqual(['long', 'new'])
      expect(await read(1_000)).toEqual([])
      const many = Array.from({ length: 2_200 }, (_, index) => at(`many-${String(index).padStart(4, '0')}`, nowMs))
      await insert(many)
      const { rows, omitted } = await tail.read(database, nowMs + 1_500)
      expect([rows.length, omitted]).toEqual([2_000, 200])
      expect(rows[0]?.id).toBe('many-2199')
      for (const laterMs of [2_000, 7_000, 8_000, 20_000]) expect(await read(laterMs)).toEqual([])
      await insert([at('last', nowMs)])
      expect(await read(20_500)).toEqual(['last'])
      // At midnight, the table of a new day begins with rows that nobody has seen.
      await insert([at('tomorrow', nowMs + DAY_MS)])
      expect(await read(DAY_MS)).toEqual(['tomorrow'])
    })

    it('makes a partition once, also when many ask at the same time, and anew when it was dropped', async () => {
      const day = Math.floor(Date.UTC(2031, 4, 5) / DAY_MS)
      await Promise.all(Array.from({ length: 4 }, () => new LogPartitions(database).ensure([day, day + 1])))
      await database.script('DROP TABLE request_log_20310505')
      await new LogPartitions(database).ensure([day])
      await insertRows([row('late', { atMs: day * DAY_MS }), row('last', { atMs: (day + 2) * DAY_MS - 1 })])
      expect(await ids(EVERYONE)).toEqual(['last', 'late'])
    })

    it('has the same sums of keys by day when they are made from those by hour', async () => {
      const sums = new Rollups()
      for (let at = 0; at < 200; at++) {
        const keyId = at % 4 === 0 ? null : `key-${at % 7}`
        const atMs = Date.UTC(2031, 4, 20) + at * 1_234_567
        const status = at % 5 === 0 ? 503 : 200
        sums.add(row(`r${at}`, { atMs, keyId, userId: keyId, status, totalUs: at, aborted: at % 3 === 0 }))
      }
      await sums.addTo(database)
      const days = (): Promise<unknown[]> =>
        database.query('SELECT * FROM key_rollup_daily ORDER BY day, key_id, user_id')
      const before = await days()
      expect(before.length).toBeGreaterThan(14)
      // As it was before: of keys alone.
      await database.script(`DELETE FROM key_rollup_daily WHERE key_id = ''; ${keyDays.sql}`)
      const ofKeys = (all: unknown[]): unknown[] => all.filter((one) => (one as { key_id: string }).key_id !== '')
      expect(ofKeys(await days())).toEqual(ofKeys(before))
      const [requests] = await database.query<{ sum: number }>(
        'SELECT sum(requests)::int8 AS sum FROM key_rollup_daily',
      )
      expect(requests?.sum).toBe(200)
    })

    it('drops days past their retention whole, also half dropped ones, and keeps the hourly sums', async () => {
      const today = Math.floor(Date.UTC(2031, 4, 20, 12) / DAY_MS)
      const at = (day: number): { atMs: number } => ({ atMs: (today + day) * DAY_MS + 1_000 })
      const rows = [row('old', at(-31)), row('apart', at(-32)), row('kept', at(-30)), row('new', at(0))]
      await insert(rows)
      const sums = new Rollups()
      for (const one of rows) sums.add(one)
      await sums.addTo(database)
      await addDeadLetters(database, 'node', [
        { segment: 's', position: 1, reason: 'old', bytes: Buffer.from('x') },
        { segment: 's', position: 2, reason: 'new', bytes: Buffer.from('y') },
      ])
      const dated = 'UPDATE journal_dead_letters SET at = $1 WHERE reason = $2'
      await database.query(dated, [new Date(at(-40).atMs), 'old'])
      await database.query(dated, [new Date(at(-1).atMs), 'new'])
      await database.script('ALTER TABLE request_log DETACH PARTITION request_log_20310418')

      const logger = { info: () => undefined, warn: () => undefined, error: () => undefined }
      const clock = { now: () => at(0).atMs, monotonicUs: () => 0 }
      const keeper = new LogKeeper({ database, clock, retentionDays: 30, logger })
      keeper.start()
      try {
        await eventually(async () => {
          const tables = (await listLogDays(database)).map(({ table }) => table)
          expect(tables.filter((name) => name < 'request_log_20310420')).toEqual([])
        })
      } finally {
        await keeper.stop()
      }

      expect(await ids(EVERYONE)).toEqual(['new', 'kept'])
      const tables = (await listLogDays(database)).map(({ table }) => table)
      expect(tables).toContain('request_log_20310521')
      expect(await database.query('SELECT sum(requests)::int8 AS requests FROM request_rollup_hourly')).toEqual([
        { requests: 4 },
      ])
      expect((await listDeadLetters(database, { limit: 10, after: null })).map(({ reason }) => reason)).toEqual(['new'])
    })

    it('deletes audit entries past their retention in batches, so that no statement reaches its time limit', async () => {
      const nowMs = Date.UTC(2031, 4, 20, 12)
      await database.query(
        `INSERT INTO audit_log (at, operation, path, address, request_id, outcome)
          SELECT $1::timestamptz - make_interval(days => CASE n WHEN 0 THEN 1 ELSE 40 END), 'o', '/', '', 'r' || n, 'done'
          FROM generate_series(0, 2500) AS n`,
        [new Date(nowMs)],
      )
      const removed: number[] = []
      const watched: Database = {
        ...database,
        query: async <Row>(...[statement, parameters]: Parameters<Queryable['query']>) => {
          const rows = await database.query<Row>(statement, parameters)
          const isRemoval = typeof statement === 'string' && statement.startsWith('DELETE FROM audit_log')
          if (isRemoval) removed.push(rows.length)
          return rows
        },
      }
      const logger = { info: () => undefined, warn: () => undefined, error: () => undefined }
      const clock = { now: () => nowMs, monotonicUs: () => 0 }
      const keeper = new LogKeeper({ database: watched, clock, retentionDays: 30, logger })
      keeper.start()
      try {
        await eventually(async () => {
          expect(await database.query('SELECT request_id FROM audit_log')).toEqual([{ request_id: 'r0' }])
        })
      } finally {
        await keeper.stop()
      }
      expect(removed).toEqual([1_000, 1_000, 500])
    })

    it('lists dead letters page by page, by their place in the journal', async () => {
      const letter = (segment: string, position: number) => ({
        segment,
        position,
        reason: 'r',
        bytes: Buffer.from([0, 255]),
      })
      await addDeadLetters(database, 'node-a', [letter('s2', 5), letter('s1', 30), letter('s1', 4)])
      await addDeadLetters(database, 'node-b', [letter('s1', 1)])
      const first = await listDeadLetters(database, { limit: 3, after: null })
      expect(first.map(({ node, segment, position }) => [node, segment, position])).toEqual([
        ['node-a', 's1', 4],
        ['node-a', 's1', 30],
        ['node-a', 's2', 5],
      ])
      expect(first[0]?.bytes).toEqual(Buffer.from([0, 255]))
      const rest = await listDeadLetters(database, { limit: 3, after: ['node-a', 's2', 5] })
      expect(rest.map(({ node, position }) => [node, position])).toEqual([['node-b', 1]])
      expect(await countDeadLetters(database)).toBe(4)
    })

    function row(id: string, changes: Parameters<typeof anEnd>[1] = {}) {
      return rowOfEnd(fieldsOf(anEnd(id, changes)), 'node')
    }

    async function insertRows(rows: readonly LogRow[]): Promise<void> {
      const log = new LogRows(rows.length)
      for (const one of rows) log.add(one)
      await log.insert(database)
    }

    async function insert(rows: readonly LogRow[]): Promise<void> {
      await new LogPartitions(database).ensure(new Set(rows.map(({ atMs }) => Math.floor(atMs / DAY_MS))))
      await insertRows(rows)
    }

    async function ids(scope: LogScope, filter: LogFilter = {}): Promise<string[]> {
      return (await listLogRows(database, scope, filter, { limit: 100, after: null })).rows.map(({ id }) => id)
    }
  })
}
