import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { CaptureKeeper } from '../../src/control/capture/capture-keeper.ts'
import type { CaptureKeeperOptions } from '../../src/control/capture/capture-keeper.ts'
import { CapturedBodies } from '../../src/control/capture/captured-bodies.ts'
import { CaptureReceiver } from '../../src/control/capture/captures.ts'
import { DATA_KEY_SEAL, DataKeys } from '../../src/control/capture/data-keys.ts'
import { packBody } from '../../src/control/capture/pack-body.ts'
import type { BodyTask, PackedBody } from '../../src/control/capture/body-task.ts'
import { captureTenantOf, eraseCaptures, eraseTenantCaptures } from '../../src/control/store/captures.ts'
import type { Database } from '../../src/control/store/database.ts'
import { changeEnterprise, deleteEnterprise, insertEnterprise } from '../../src/control/store/enterprises.ts'
import { insertEntryKey, listEntryKeysForSnapshot } from '../../src/control/store/entry-keys.ts'
import { migrate } from '../../src/control/store/migrate.ts'
import type { Capture, CaptureSettings } from '../../src/shared/core/capture.ts'
import { newRequestId } from '../../src/shared/core/request-id.ts'
import { Seal } from '../../src/shared/runtime/seal.ts'
import { entryKey } from '../support/entry-key.ts'
import { eventually } from '../support/eventually.ts'

const ALL: CaptureSettings = { requests: true, answers: true, sample: 1, redact: [], retainDays: 30 }
const DAY_MS = 86_400_000

/** Captured bodies on either database. */
export function capturesContract(open: () => Promise<Database>): void {
  describe('as the store of captured bodies', () => {
    const secret = randomBytes(32)
    const dataKeys = new DataKeys(new Seal(secret, DATA_KEY_SEAL))
    const bodies = new CapturedBodies(dataKeys)
    let database: Database
    let dropped: Record<string, number>
    let stored: number
    let nowMs: number
    let pack: (task: BodyTask) => Promise<PackedBody>

    beforeAll(async () => {
      database = await open()
      await migrate(database)
    })
    beforeEach(() => {
      dropped = {}
      stored = 0
      nowMs = Date.now()
      pack = (task) => Promise.resolve(packBody(task))
    })
    afterAll(() => database.close())

    function newReceiver(on: Database = database): CaptureReceiver {
      return new CaptureReceiver({
        database: on,
        dataKeys,
        loadPool: () => Promise.resolve({ pack: (task) => pack(task), close: () => Promise.resolve() }),
        isAllowed: true,
        maxBodyBytes: 1_000,
        logRetentionDays: 90,
        now: () => nowMs,
        onStored: (captures) => {
          stored += captures
        },
        onDropped: (reason, captures) => {
          dropped[reason] = (dropped[reason] ?? 0) + captures
        },
        onFault: () => undefined,
      })
    }

    function newKeeper(options: Partial<CaptureKeeperOptions> = {}): CaptureKeeper {
      return new CaptureKeeper({ database, logRetentionDays: 0, now: Date.now, onFault: () => undefined, ...options })
    }

    function take(receiver: CaptureReceiver, captures: readonly Capture[]): Promise<boolean> {
      return new Promise((resolve) => {
        receiver.receive({ type: 'captures', id: 1, captures }, ({ isStored }) => {
          resolve(isStored)
        })
      })
    }

    async function newTenant(capture: CaptureSettings | null = ALL): Promise<{ id: string; keyId: string }> {
      const id = `ent_${randomUUID()}`
      await insertEnterprise(database, {
        id,
        name: 'Acme',
        status: 'active',
        currency: 'USD',
        timeZone: 'UTC',
        isPrepaid: false,
        rpm: null,
        tpm: null,
        maxConcurrency: null,
        monthlyBudget: null,
        monthlyTokens: null,
        platformMonthlyBudget: null,
        modelBudgets: null,
        capture,
      })
      const key = entryKey({ id: `key_${randomUUID()}`, digest: randomUUID(), enterpriseId: id })
      await insertEntryKey(database, key)
      return { id, keyId: key.id }
    }

    const bytesOf = (text: string) => ({ bytes: Buffer.from(text), size: Buffer.byteLength(text), isComplete: true })

    function captureOf(
      { id, keyId }: { id: string; keyId: string },
      request: string,
      answer: string | null = null,
    ): Capture {
      return {
        requestId: newRequestId(Date.now()),
        atMs: Date.now(),
        keyId,
        userId: null,
        enterpriseId: id,
        request: bytesOf(request),
        answer: answer === null ? null : bytesOf(answer),
      }
    }

    const rowOf = ({ requestId, enterpriseId }: Capture) => ({ id: requestId, enterpriseId, userId: null })

    async function textsOf(capture: Capture): Promise<Array<string | null>> {
      const found = (await bodies.of(database, [rowOf(capture)])).get(capture.requestId)
      return [found?.request?.text ?? null, found?.answer?.text ?? null]
    }

    const tenantOf = (id: string): string => captureTenantOf({ enterpriseId: id, userId: null })

    /** The uses of each body of a tenant, and how many captures refer to it. */
    async function usesOf(id: string): Promise<Array<{ uses: number; captures: number }>> {
      return database.query(
        `SELECT b.uses, (SELECT count(*)::int4 FROM captures c WHERE c.key_id = b.key_id AND c.digest = b.digest) AS captures
          FROM captured_bodies b WHERE b.key_id IN (SELECT k.id FROM capture_keys k WHERE k.tenant = $1) ORDER BY b.uses`,
        [tenantOf(id)],
      )
    }

    async function leftOf(id: string): Promise<number> {
      const [row] = await database.query<{ count: number }>(
        `SELECT (SELECT count(*)::int4 FROM captures WHERE key_id = ANY (ids)) + (SELECT count(*)::int4 FROM captured_bodies
            WHERE key_id = ANY (ids)) AS count FROM (SELECT coalesce(array_agg(id), '{}') AS ids FROM capture_keys WHERE tenant = $1) k`,
        [tenantOf(id)],
      )
      return row?.count ?? -1
    }

    it('keeps a body once for each content, and a batch that comes again once', async () => {
      const tenant = await newTenant()
      const receiver = newReceiver()
      const captures = [captureOf(tenant, 'same', 'one'), captureOf(tenant, 'same', 'two'), captureOf(tenant, 'other')]
      expect(await take(receiver, captures)).toBe(true)
      expect(await take(receiver, captures)).toBe(true)
      expect(await usesOf(tenant.id)).toEqual([
        { uses: 1, captures: 1 },
        { uses: 1, captures: 1 },
        { uses: 1, captures: 1 },
        { uses: 2, captures: 2 },
      ])
      expect(await Promise.all(captures.map(textsOf))).toEqual([
        ['same', 'one'],
        ['same', 'two'],
        ['other', null],
      ])
    })

    it('shows nothing of one tenant to another', async () => {
      const [tenant, other] = [await newTenant(), await newTenant()]
      const capture = captureOf(tenant, 'ours')
      await take(newReceiver(), [capture])
      const foreign = { ...rowOf(capture), enterpriseId: other.id }
      expect((await bodies.of(database, [foreign])).size).toBe(0)
      expect((await bodies.idsOf(database, [foreign])).size).toBe(0)
      const erased = { id: capture.requestId, tenant: tenantOf(other.id) }
      expect(await database.transaction((tx) => eraseCaptures(tx, erased))).toBe(0)
      expect(await textsOf(capture)).toEqual(['ours', null])
    })

    it('erases one request, and a body with its last use', async () => {
      const tenant = await newTenant()
      const [first, second] = [captureOf(tenant, 'same', 'a'), captureOf(tenant, 'same', 'b')]
      await take(newReceiver(), [first, second])
      const erase = ({ requestId: id }: Capture): Promise<number> =>
        database.transaction((tx) => eraseCaptures(tx, { id, tenant: tenantOf(tenant.id) }))
      expect(await erase(first)).toBe(2)
      expect(await erase(first)).toBe(0)
      expect(await textsOf(first)).toEqual([null, null])
      expect(await textsOf(second)).toEqual(['same', 'b'])
      expect(await erase(second)).toBe(2)
      expect(await leftOf(tenant.id)).toBe(0)
    })

    it('erases a tenant at once, its rows soon after, and takes new bodies', async () => {
      const [tenant, other] = [await newTenant(), await newTenant()]
      const capture = captureOf(tenant, 'before', 'x')
      const theirs = captureOf(other, 'theirs')
      const receiver = newReceiver()
      await take(receiver, [capture, theirs])
      await eraseTenantCaptures(database, tenantOf(tenant.id))
      expect(await textsOf(capture)).toEqual([null, null])
      const after = { ...captureOf(tenant, 'after'), atMs: Date.now() + 1 }
      await take(receiver, [after])
      const faults: unknown[] = []
      // It was on its way.
      await take(receiver, [{ ...captureOf(tenant, 'on its way'), atMs: capture.atMs }])
      const keeper = newKeeper({ onFault: (cause) => faults.push(cause) })
      keeper.work()
      await eventually(async () => {
        expect(await leftOf(tenant.id)).toBe(2)
      })
      await keeper.stop()
      expect(faults).toEqual([])
      expect([await textsOf(after), await textsOf(theirs)]).toEqual([
        ['after', null],
        ['theirs', null],
      ])
    })

    it('deletes what has expired, and nothing else', async () => {
      const [short, long] = [await newTenant({ ...ALL, retainDays: 1 }), await newTenant()]
      const old = { ...captureOf(short, 'old'), atMs: Date.now() - 2 * DAY_MS }
      const [young, theirs] = [captureOf(short, 'young'), captureOf(long, 'theirs')]
      await take(newReceiver(), [old, young, theirs])
      expect(await textsOf(old)).toEqual([null, null])
      const keeper = newKeeper()
      keeper.work()
      await eventually(async () => {
        expect(await leftOf(short.id)).toBe(2)
      })
      await keeper.stop()
      expect([await textsOf(young), await textsOf(theirs)]).toEqual([
        ['young', null],
        ['theirs', null],
      ])
    })

    it('deletes what is older than the log keeps its rows, also from before that was lowered', async () => {
      const [tenant, other] = [await newTenant(), await newTenant()]
      const captureAt = (text: string, atMs: number): Capture => ({
        ...captureOf(tenant, text, 'same'),
        requestId: newRequestId(atMs),
        atMs,
      })
      const keptMs = Date.now() - 2 * DAY_MS
      const [old, first] = [captureAt('old', keptMs - 1), captureAt('first', keptMs)]
      const theirs = captureOf(other, 'theirs')
      await take(newReceiver(), [old, first, theirs])
      expect(await textsOf(old)).toEqual(['old', 'same'])
      const faults: unknown[] = []
      const onFault = (cause: unknown): unknown => faults.push(cause)
      const keeper = newKeeper({ logRetentionDays: 2, now: () => keptMs + 2 * DAY_MS, onFault })
      keeper.work()
      await eventually(async () => {
        expect(await leftOf(tenant.id)).toBe(4)
      })
      await keeper.stop()
      expect(faults).toEqual([])
      expect(await usesOf(tenant.id)).toEqual([
        { uses: 1, captures: 1 },
        { uses: 1, captures: 1 },
      ])
      expect([await textsOf(old), await textsOf(first), await textsOf(theirs)]).toEqual([
        [null, null],
        ['first', 'same'],
        ['theirs', null],
      ])
    })

    it('takes nothing of a key that captures no more, or of an enterprise that is deleted', async () => {
      const [off, gone, late] = [await newTenant(), await newTenant(), await newTenant()]
      await changeEnterprise(database, off.id, { capture: null })
      await database.transaction((tx) => deleteEnterprise(tx, gone.id, 'user_1'))
      const captures = [captureOf(off, 'a'), captureOf(gone, 'b')]
      expect(await take(newReceiver(), captures)).toBe(true)
      expect([stored, dropped]).toEqual([0, { off: 2 }])
      // The enterprise is deleted while its body is redacted.
      pack = async (task) => {
        await database.transaction((tx) => deleteEnterprise(tx, late.id, 'user_1'))
        return packBody(task)
      }
      expect(await take(newReceiver(), [captureOf(late, 'c')])).toBe(true)
      expect([stored, dropped, await leftOf(late.id)]).toEqual([0, { off: 3 }, 0])
    })

    it('says that a batch is not stored while the database fails, and stores it later', async () => {
      const tenant = await newTenant()
      const capture = captureOf(tenant, 'text')
      let isDown = true
      const faulty: Database = {
        ...database,
        kind: database.kind,
        query: (statement, parameters) => database.query(statement, parameters),
        transaction: (work) => (isDown ? Promise.reject(new Error('down')) : database.transaction(work)),
      }
      const receiver = newReceiver(faulty)
      expect(await take(receiver, [capture])).toBe(false)
      isDown = false
      expect(await take(receiver, [capture])).toBe(true)
      expect(await textsOf(capture)).toEqual(['text', null])
    })

    it('drops what cannot be redacted, and works on no more of that key for a while', async () => {
      const [bad, good] = [await newTenant({ ...ALL, redact: ['slow'] }), await newTenant()]
      let tried = 0
      pack = (task) => {
        if (task.patterns.length === 0) return Promise.resolve(packBody(task))
        tried += 1
        return Promise.reject(new Error('too slow'))
      }
      const receiver = newReceiver()
      const fine = captureOf(good, 'fine')
      expect(await take(receiver, [captureOf(bad, 'a'), captureOf(bad, 'b'), fine])).toBe(true)
      expect([tried, stored, dropped]).toEqual([1, 1, { failed: 2 }])
      nowMs += 600_001
      await take(receiver, [captureOf(bad, 'c')])
      expect(tried).toBe(2)
      expect(await textsOf(fine)).toEqual(['fine', null])
    })

    it('drops what a tenant with slow bodies has too much of, and nothing of others', async () => {
      const [slow, good] = [await newTenant({ ...ALL, redact: ['slow'] }), await newTenant()]
      pack = (task) => {
        if (task.patterns.length > 0) nowMs += 4_000
        return Promise.resolve(packBody(task))
      }
      const receiver = newReceiver()
      const fine = captureOf(good, 'fine')
      const batch = Array.from({ length: 20 }, (_, index) => captureOf(slow, `body ${index}`))
      expect(await take(receiver, [...batch, fine])).toBe(true)
      expect([stored, dropped]).toEqual([4, { failed: 17 }])
      expect(await textsOf(fine)).toEqual(['fine', null])
      nowMs += 60_000
      expect(await take(receiver, [captureOf(slow, 'later')])).toBe(true)
      expect(stored).toBe(5)
    })

    it('counts uses exactly when machines store and erase the same bodies at the same time', async () => {
      const tenant = await newTenant()
      const receivers = Array.from({ length: 4 }, () => newReceiver())
      const batches = receivers.map(() =>
        Array.from({ length: 12 }, (_, index) => captureOf(tenant, `body ${index % 3}`)),
      )
      const erase = async (captures: readonly Capture[]): Promise<void> => {
        for (const { requestId: id } of captures) {
          await database.transaction((tx) => eraseCaptures(tx, { id, tenant: tenantOf(tenant.id) }))
        }
      }
      await Promise.all(
        receivers.map(async (receiver, index) => {
          const batch = batches[index] ?? []
          expect(await take(receiver, batch)).toBe(true)
          await erase(batch.slice(0, 6))
        }),
      )
      const uses = await usesOf(tenant.id)
      expect(uses.every((body) => body.uses === body.captures)).toBe(true)
      expect(uses.reduce((sum, body) => sum + body.uses, 0)).toBe(24)
      await Promise.all(batches.map((batch) => erase(batch)))
      expect(await leftOf(tenant.id)).toBe(0)
    })

    it('tells fronts the rule of the key, or else of its enterprise, unless capture is forbidden', async () => {
      const tenant = await newTenant({ ...ALL, sample: 0.5 })
      const own = entryKey({ id: `key_${randomUUID()}`, digest: randomUUID(), enterpriseId: tenant.id })
      await insertEntryKey(database, own, { ...ALL, requests: false, answers: false })
      const ruleOf = async (keyId: string, mayCapture?: boolean): Promise<unknown> =>
        (await listEntryKeysForSnapshot(database, undefined, mayCapture)).find(({ id }) => id === keyId)?.capture
      expect(await ruleOf(tenant.keyId)).toEqual({ requests: true, answers: true, sample: 0.5 })
      expect(await ruleOf(own.id)).toBeUndefined()
      expect(await ruleOf(tenant.keyId, false)).toBeUndefined()
    })
  })
}
