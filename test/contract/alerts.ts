import { fileURLToPath } from 'node:url'
import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { alertHandlers } from '../../src/control/management/alert-handlers.ts'
import { postUsage } from '../../src/control/ledger/post-usage.ts'
import { moveWallet } from '../../src/control/ledger/wallet.ts'
import { putSummary } from '../../src/control/store/alert-summaries.ts'
import { findAlert, updateAlert } from '../../src/control/store/alerts.ts'
import { addBudgetUse } from '../../src/control/store/budget-use.ts'
import type { Database } from '../../src/control/store/database.ts'
import { changeEnterprise } from '../../src/control/store/enterprises.ts'
import { insertEntryKey, setEntryKeyStatus } from '../../src/control/store/entry-keys.ts'
import { migrate } from '../../src/control/store/migrate.ts'
import { Rollups } from '../../src/control/store/rollups.ts'
import type { Post } from '../../src/control/alerts/sender.ts'
import { budgetName, modelBudgetName } from '../../src/shared/core/budget.ts'
import { monthAt } from '../../src/shared/core/month.ts'
import type { RelayState, UpstreamKeyState } from '../../src/shared/core/relay-state.ts'
import type { KeyState } from '../../src/shared/core/scheduler-stats.ts'
import type { Provider } from '../../src/shared/core/snapshot.ts'
import { UpstreamReach } from '../../src/shared/core/upstream-reach.ts'
import { callOf } from '../support/call-of.ts'
import { AlertWorld } from '../support/alert-world.ts'
import { entryKey } from '../support/entry-key.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const CERTIFICATE = fileURLToPath(new URL('../fixtures/tls/localhost.crt', import.meta.url))

/** Alerts on either database: what crosses, who is told, how often. */
export function alertsContract(open: () => Promise<Database>): void {
  describe('as the memory of alerts', () => {
    let database: Database
    let world: AlertWorld
    let batches = 0

    beforeAll(async () => {
      database = await open()
      await migrate(database)
    })
    beforeEach(async () => {
      world = await AlertWorld.open(database)
    })
    afterEach(() => world.close())
    afterAll(() => database.close())

    async function spend(enterpriseId: string, costMicro: number): Promise<void> {
      const { name } = monthAt('UTC', world.nowMs)
      const budget = budgetName('enterprise', enterpriseId, name)
      await addBudgetUse(database, [{ budget, writer: 'w', costMicro, tokens: 0 }])
    }

    async function charge(enterpriseId: string, costMicro: number): Promise<void> {
      batches += 1
      await postUsage(database, `${world.receiver.url()} ${batches}`, new Map([[enterpriseId, costMicro]]))
    }

    async function credit(enterpriseId: string, amountMicro: bigint): Promise<void> {
      batches += 1
      const id = `topup_${world.receiver.url()}_${batches}`
      const movement = { id, enterpriseId, kind: 'topup', amountMicro, reference: null, actor: null } as const
      expect(await moveWallet(database, movement)).toMatchObject({ outcome: 'done' })
    }

    /** Adds settled requests to the sums of the present hour. */
    async function settle(enterpriseId: string, status: number, requests: number, ttftMs = 0): Promise<void> {
      const rollups = new Rollups()
      const row = {
        atMs: world.nowMs,
        enterpriseId,
        status,
        ...{ keyId: 'k', userId: null, departmentId: null, memberId: null, model: 'gpt', endpoint: 'chat' },
        ...{
          providerId: 'up',
          upstreamKeyId: 'k0',
          aborted: false,
          promptTokens: 0,
          completionTokens: 0,
          cachedTokens: 0,
        },
        ...{ cacheWriteTokens: 0, reasoningTokens: 0, costMicro: 1_000_000, queueUs: 0, ttftUs: ttftMs * 1000 },
        ...{ totalUs: 0, overheadUs: 0 },
      }
      for (let request = 0; request < requests; request++) rollups.add(row)
      await database.transaction((tx) => rollups.addTo(tx))
    }

    function upstreamsAre(...states: readonly KeyState[]): void {
      const key = (index: number) => ({
        ...{ id: `k${index}`, name: `key ${index}`, credential: 'secret', enabled: true, weight: 1, maxConcurrency: 1 },
      })
      const provider = { id: 'up', name: 'Up', keys: states.map((_, index) => key(index)) }
      world.providers = [provider as unknown as Provider]
      world.keys = states.map((state, index): UpstreamKeyState => ({
        ...{ providerId: 'up', keyId: `k${index}`, state, slotsUsed: 0, slotsHeld: 1, coolingSeconds: 0 },
        calls: { ok: 1 },
      })) satisfies RelayState['keys']
    }

    it('tells each threshold of a budget once, and again in the next month; a restart repeats nothing', async () => {
      world.nowMs = Date.UTC(2026, 10, 10)
      const id = await world.enterprise({ monthlyBudget: 1_000 })
      await world.alert(id, 'budget', { path: '/b' })
      let runner = world.runner()
      for (const cost of [490, 20, 0, 380, 20, 200, 300]) {
        await spend(id, cost)
        await world.check(runner, 10 * SECOND)
        await world.check(runner, 10 * SECOND)
        await runner.stop()
        runner = world.runner()
      }
      expect(world.told('/b')).toEqual([50, 80, 100])
      expect(world.receiver.at('/b')[1]?.json).toMatchObject({
        type: 'alert.budget',
        data: {
          kind: 'budget',
          enterprise_id: id,
          subject: { type: 'enterprise', id, name: 'Acme' },
          value: 89,
          unit: 'percent',
          message: expect.stringContaining('89 % of its budget for 2026-11') as string,
        },
      })
      await world.check(runner, 30 * DAY)
      await spend(id, 600)
      await world.check(runner, 10 * SECOND)
      expect(world.told('/b')).toEqual([50, 80, 100, 50])
    })

    it('watches budgets of departments and tokens, and only those of the owners that are named', async () => {
      const id = await world.enterprise({ monthlyBudget: 1_000 })
      await database.query(
        `INSERT INTO departments (id, enterprise_id, name, monthly_tokens) VALUES ($1, $2, 'Research', 100)`,
        [`dep_${id}`, id],
      )
      const budget = budgetName('department', `dep_${id}`, monthAt('UTC', world.nowMs).name)
      await addBudgetUse(database, [{ budget, writer: 'w', costMicro: 0, tokens: 60 }])
      await spend(id, 700)
      await world.alert(id, 'budget', { path: '/departments' }, { owners: ['department'], threshold: 60 })
      await world.alert(null, 'budget', { path: '/platform' })
      await world.check(world.runner())
      expect(world.receiver.at('/departments').map(({ json }) => json.data)).toMatchObject([
        { subject: { type: 'department', name: 'Research' }, value: 60, threshold: 60 },
      ])
      expect(world.receiver.at('/platform').map(({ json }) => json.data['subject'])).toMatchObject([
        { type: 'enterprise', id },
      ])
    })

    it('watches budgets for models beside those for all, each by itself', async () => {
      const id = await world.enterprise({ monthlyBudget: 1_000 })
      const models = ['m', 'some-group']
      await changeEnterprise(database, id, { modelBudgets: [{ models, moneyMicro: 100, tokens: null }] })
      const budget = modelBudgetName(models, 'enterprise', id, monthAt('UTC', world.nowMs).name)
      await addBudgetUse(database, [{ budget, writer: 'w', costMicro: 81, tokens: 0 }])
      await spend(id, 510)
      await world.alert(id, 'budget', { path: '/m' })
      await world.check(world.runner())
      const messages = world.receiver.at('/m').map(({ json }) => String(json.data['message']))
      expect(messages.toSorted()).toEqual([
        expect.stringContaining('has used 51 % of its budget for 2026-11: '),
        expect.stringContaining('has used 81 % of its budget for 2026-11, for m, some-group: '),
      ])
    })

    it('tells how far a wallet is used since the last credit', async () => {
      const id = await world.enterprise({ isPrepaid: true })
      await world.alert(id, 'wallet', { path: '/w' })
      const runner = world.runner()
      await credit(id, 1_000n)
      for (const cost of [400, 450, 50, 100]) {
        await charge(id, cost)
        await world.check(runner, 10 * SECOND)
      }
      expect(world.told('/w')).toEqual([80, 100])
      await credit(id, 1_000n)
      await world.check(runner, 10 * SECOND)
      await charge(id, 500)
      await world.check(runner, 10 * SECOND)
      expect(world.told('/w')).toEqual([80, 100, 50])
    })

    it('tells an error rate and a latency beyond their bounds once, from the requests of the last minutes', async () => {
      world.nowMs = Math.floor(world.nowMs / HOUR) * HOUR + 50 * MINUTE
      const id = await world.enterprise()
      const other = await world.enterprise()
      await world.alert(id, 'error_rate', { path: '/e' }, { threshold: 20 })
      await world.alert(id, 'latency', { path: '/l' }, { threshold: 500, minRequests: 5 })
      await world.alert(null, 'error_rate', { path: '/all' })
      // Before the first look: it may have been told already.
      await settle(id, 503, 100)
      const runner = world.runner()
      await world.check(runner)
      await settle(id, 503, 10, 900)
      await settle(other, 200, 500)
      await world.check(runner, MINUTE)
      expect(world.receiver.received.map(({ path }) => path)).toEqual(['/l'])
      await settle(id, 503, 15, 900)
      for (let n = 0; n < 3; n++) await world.check(runner, MINUTE)
      expect(world.receiver.at('/e').map(({ json }) => json.data)).toMatchObject([{ value: 100, threshold: 20 }])
      // It is over when the window has passed; then it can be crossed again. The hour changes meanwhile.
      await settle(id, 200, 1_000, 100)
      for (let n = 0; n < 9; n++) await world.check(runner, MINUTE)
      await settle(id, 500, 500, 2_000)
      await world.check(runner, MINUTE)
      await world.check(runner, MINUTE)
      expect(world.told('/e')).toEqual([20, 20])
      expect(world.told('/l')).toEqual([500, 500])
      expect(world.told('/all')).toEqual([10])
    })

    it('tells an upstream and a key that are out once, until they have been well for a minute', async () => {
      await world.alert(null, 'upstream_down', { path: '/u' })
      await world.alert(null, 'key_disabled', { path: '/k' })
      let runner = world.runner()
      upstreamsAre('ok', 'disabled')
      await world.check(runner, 10 * SECOND)
      expect(world.receiver.received.map(({ path }) => path)).toEqual(['/k'])
      upstreamsAre('breaker-open', 'disabled')
      await world.check(runner, 10 * SECOND)
      upstreamsAre('half-open', 'disabled')
      await world.check(runner, 10 * SECOND)
      // A restart: nothing has been called yet.
      await runner.stop()
      runner = world.runner()
      world.keys = []
      await world.check(runner, 2 * MINUTE)
      upstreamsAre('ok', 'ok')
      world.keys = world.keys.map((key) => ({ ...key, calls: {} }))
      await world.check(runner, 2 * MINUTE)
      upstreamsAre('breaker-open', 'disabled')
      await world.check(runner, 10 * SECOND)
      expect(world.receiver.received.map(({ path }) => path)).toEqual(['/k', '/u'])
      expect(world.receiver.at('/u')[0]?.json.data).toMatchObject({
        subject: { type: 'upstream', id: 'up' },
        threshold: null,
        message: 'The upstream Up (up) is out: none of its 2 keys is usable.',
      })
      upstreamsAre('ok', 'ok')
      await world.check(runner, 10 * SECOND)
      await world.check(runner, 2 * MINUTE)
      upstreamsAre('breaker-open', 'breaker-open')
      await world.check(runner, 10 * SECOND)
      expect(world.receiver.received.map(({ path }) => path)).toEqual(['/k', '/u', '/u'])
    })

    it('tells keys of an enterprise that are turned off or expire, but not those that were before', async () => {
      const id = await world.enterprise()
      const key = (name: string, expiresAtMs: number | null) =>
        insertEntryKey(database, entryKey({ id: name, digest: name, name, enterpriseId: id, expiresAtMs }))
      await key('off', null)
      await key('on', null)
      await key('short', world.nowMs + MINUTE)
      await setEntryKeyStatus(database, 'off', 'disabled')
      await world.alert(id, 'key_disabled', { path: '/k' })
      const runner = world.runner()
      await world.check(runner)
      await world.check(runner, 10 * SECOND)
      expect(world.receiver.received).toEqual([])
      await setEntryKeyStatus(database, 'on', 'disabled')
      await world.check(runner, 10 * SECOND)
      await world.check(runner, MINUTE)
      await world.check(runner, MINUTE)
      expect(world.receiver.at('/k').map(({ json }) => json.data['message'])).toEqual([
        'The key on (on) is turned off.',
        'The key short (short) has expired.',
      ])
      await setEntryKeyStatus(database, 'off', 'enabled')
      await world.check(runner, MINUTE)
      await setEntryKeyStatus(database, 'off', 'disabled')
      await world.check(runner, MINUTE)
      expect(world.receiver.at('/k')).toHaveLength(3)
    })

    it('tells a journal that is behind, and a certificate at each threshold', async () => {
      await world.alert(null, 'journal_behind', { path: '/j' })
      await world.alert(null, 'certificate', { path: '/c' })
      world.certFile = CERTIFICATE
      const runner = world.runner()
      world.lagMs = 61_000
      await world.check(runner)
      world.lagMs = 40_000
      await world.check(runner, 10 * SECOND)
      world.lagMs = 61_000
      await world.check(runner, 10 * SECOND)
      expect(world.told('/j')).toEqual([60])
      world.lagMs = 0
      const { nowMs } = world
      const { X509Certificate } = await import('node:crypto')
      const { readFileSync } = await import('node:fs')
      const endMs = Date.parse(new X509Certificate(readFileSync(CERTIFICATE)).validTo)
      world.nowMs = Math.max(nowMs, endMs - 20 * DAY)
      for (let day = 0; day < 25; day++) await world.check(runner, DAY)
      expect(world.told('/c')).toEqual([14, 7, 1])
      expect(world.receiver.at('/c')[0]?.json.data).toMatchObject({ unit: 'days', subject: { type: 'certificate' } })
    })

    it('signs so that the public library verifies, and tries again with the same id until it is taken', async () => {
      const id = await world.enterprise({ monthlyBudget: 100 })
      const { secret } = await world.alert(id, 'budget', { path: '/r' }, { threshold: 50 })
      await spend(id, 60)
      world.receiver.answers.push(500, 302, { status: 503, headers: { 'retry-after': '120' } })
      const runner = world.runner()
      await world.check(runner)
      const [first] = world.receiver.received
      expect(new Webhook(secret).verify(first?.body ?? '', first?.headers ?? {})).toEqual(first?.json)
      await world.check(runner, 4 * SECOND)
      expect(await world.deliveries(id)).toMatchObject([
        { status: 'pending', attempts: 1, responseStatus: 500, error: 'It answered 500.' },
      ])
      for (const afterMs of [SECOND, 30 * SECOND, 119 * SECOND]) await world.check(runner, afterMs)
      expect(world.receiver.received).toHaveLength(3)
      await world.check(runner, SECOND)
      await world.check(runner, 10 * MINUTE)
      expect(world.receiver.received).toHaveLength(4)
      expect(new Set(world.receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
      expect(await world.deliveries(id)).toMatchObject([
        { status: 'delivered', attempts: 4, responseStatus: 204, error: null, nextAt: null },
      ])
    })

    it('sends what waits to the new address of its channel', async () => {
      const id = await world.enterprise({ monthlyBudget: 100 })
      const { receiver, seal } = world
      const alerts = [
        {
          ...(await world.alert(id, 'budget', { path: '/wrong' }, { threshold: 50 })),
          to: { webhook: receiver.url('/r') },
        },
        { ...(await world.alert(id, 'budget', { mail: 'wrong@a.test' }, { threshold: 50 })), to: { mail: 'r@a.test' } },
      ]
      await spend(id, 60)
      receiver.answers.push(500)
      world.takesMail = false
      const runner = world.runner()
      await world.check(runner)
      const parts = { seal, reach: new UpstreamReach(['127.0.0.1']), hasMail: true, test: () => Promise.resolve([]) }
      const { updateAlert: change } = alertHandlers(database, parts)
      for (const { id: alertId, to } of alerts) {
        const [channel] = (await findAlert(database, id, alertId))?.channels ?? []
        const body = { channels: [{ id: channel?.id, ...to }] }
        await change(callOf<'updateAlert'>({ params: { id, alertId }, body }))
      }
      world.takesMail = true
      await world.check(runner, 5 * SECOND)
      expect([receiver.at('/wrong').length, receiver.at('/r').length]).toEqual([1, 1])
      expect(world.letters.map(({ to }) => to)).toEqual(['r@a.test'])
      const told = (await world.deliveries(id)).map(({ status, address }) => [status, address])
      expect(told.sort()).toEqual(
        [
          ['delivered', receiver.url('/r')],
          ['delivered', 'r@a.test'],
        ].sort(),
      )
    })

    it('gives up after a day, at once where the receiver says that it is gone, and logs it', async () => {
      const id = await world.enterprise({ monthlyBudget: 100 })
      await world.alert(id, 'budget', { path: '/r' }, { threshold: 50 })
      await spend(id, 60)
      world.receiver.answers.push(...Array.from({ length: 50 }, () => 500))
      const runner = world.runner()
      for (let n = 0; n < 100; n++) await world.check(runner, 15 * MINUTE)
      const [failed] = await world.deliveries(id)
      expect(failed).toMatchObject({ status: 'failed', responseStatus: 500 })
      expect(failed?.attempts).toBe(world.receiver.received.length)
      expect(failed?.attempts).toBeGreaterThan(8)
      expect(world.warnings.join()).toContain('given up')
      world.receiver.answers.length = 0
      world.receiver.answers.push(410)
      await world.alert(id, 'budget', { path: '/gone' }, { threshold: 50 })
      await world.check(runner, 10 * SECOND)
      await world.check(runner, DAY)
      expect(world.receiver.at('/gone')).toHaveLength(1)
      // Of what is over, nothing is kept for ever.
      await world.check(runner, 31 * DAY)
      await world.check(runner, 31 * DAY)
      expect(await world.deliveries(id)).toEqual([])
    })

    it('sends again, with the same id, what the end of a process interrupted, and loses nothing', async () => {
      const id = await world.enterprise({ monthlyBudget: 100 })
      await world.alert(id, 'budget', { path: '/r' }, { threshold: 50 })
      await world.alert(id, 'budget', { mail: 'ops@example.com' }, { threshold: 50 })
      await spend(id, 60)
      const never: Post = () => new Promise(() => undefined)
      world.takesMail = false
      // As if it were killed: nobody waits for it.
      await world.runner('one', never).check()
      const tried = async (): Promise<unknown> =>
        (await world.deliveries(id)).map(({ type, attempts, error }) => `${type} ${attempts} ${error ?? ''}`).sort()
      await expect.poll(tried).toEqual([expect.stringMatching(/^mail 1 ./), 'webhook 1 '])
      world.takesMail = true
      const runner = world.runner()
      await world.check(runner, 10 * SECOND)
      expect(world.receiver.received).toEqual([])
      expect(world.letters).toHaveLength(1)
      await world.check(runner, MINUTE)
      await world.check(runner, MINUTE)
      expect(world.receiver.received).toHaveLength(1)
      expect(world.letters).toMatchObject([
        { to: 'ops@example.com', subject: 'Sluice alert: budget', messageId: expect.stringMatching(/^del_/) as string },
      ])
      expect((await world.deliveries(id)).map(({ status, attempts }) => [status, attempts])).toEqual([
        ['delivered', 2],
        ['delivered', 2],
      ])
    })

    it('holds alerts in quiet hours, sends them at their end, and drops what is over or outdone by then', async () => {
      const id = await world.enterprise({ monthlyBudget: 100, isPrepaid: true, timeZone: 'Europe/Berlin' })
      // 22:30 in Berlin.
      world.nowMs = Date.UTC(2026, 10, 10, 21, 30)
      const quiet = { from: '22:00', to: '07:00' }
      await world.alert(id, 'budget', { path: '/b' }, { quiet })
      const wallet = await world.alert(id, 'wallet', { path: '/w' }, { quiet, threshold: 50 })
      const runner = world.runner()
      await spend(id, 60)
      await credit(id, 100n)
      await charge(id, 60)
      await world.check(runner)
      await spend(id, 30)
      await world.check(runner, HOUR)
      await credit(id, 1_000n)
      await world.check(runner, HOUR)
      expect(world.receiver.received).toEqual([])
      const told = (await world.deliveries(id)).map(({ kind, status, nextAt }) => [kind, status, nextAt?.toISOString()])
      expect(told).toHaveLength(3)
      expect(told).toEqual(
        expect.arrayContaining([
          ['budget', 'held', '2026-11-11T06:00:00.000Z'],
          ['budget', 'dropped', undefined],
          ['wallet', 'dropped', undefined],
        ]),
      )
      world.nowMs = Date.UTC(2026, 10, 11, 5, 59, 59)
      await world.check(runner)
      expect(world.receiver.received).toEqual([])
      await world.check(runner, SECOND)
      await world.check(runner, HOUR)
      expect(world.told('/b')).toEqual([80])
      expect(world.receiver.at('/w')).toEqual([])
      // By day it is sent at once.
      await updateAlert(database, id, wallet.id, {
        ...{ name: null, threshold: 5, owners: null, minRequests: null, enabled: true },
        quiet,
      })
      await charge(id, 600)
      await world.check(runner, SECOND)
      expect(world.told('/w')).toEqual([5])
    })

    it('lets one of several gateways send, and the next one when it ends; what all see is told once', async () => {
      await world.alert(null, 'upstream_down', { path: '/u' })
      await world.alert(null, 'journal_behind', { path: '/j' })
      const id = await world.enterprise({ monthlyBudget: 100 })
      await world.alert(id, 'budget', { path: '/b' }, { threshold: 50 })
      const [one, two] = [world.runner('one'), world.runner('two')]
      upstreamsAre('breaker-open')
      world.lagMs = 90_000
      await spend(id, 60)
      await Promise.all([one.check(), two.check()])
      await Promise.all([one.idle(), two.idle()])
      await world.check(one, 10 * SECOND)
      await world.check(two, 10 * SECOND)
      expect(world.receiver.received.map(({ path }) => path).sort()).toEqual(['/b', '/j', '/j', '/u'])
      expect(
        world.receiver
          .at('/j')
          .map(({ json }) => (json.data['subject'] as { id: string }).id)
          .sort(),
      ).toEqual(['one', 'two'])
      await one.stop()
      await spend(id, -60)
      await world.check(two, 10 * SECOND)
      await spend(id, 60)
      await world.check(two, 10 * SECOND)
      expect(world.receiver.at('/b')).toHaveLength(2)
      // A machine that is silent counts no longer; one that still sees it is not told again.
      await world.check(two, 10 * MINUTE)
      expect(world.receiver.at('/u')).toHaveLength(1)
    })

    it('lets no receiver that is silent keep those of others waiting', async () => {
      const slow = await world.enterprise({ monthlyBudget: 100 })
      const quick = await world.enterprise({ monthlyBudget: 100 })
      for (let n = 0; n < 12; n++) await world.alert(slow, 'budget', { path: '/slow' }, { threshold: 50 })
      await world.alert(quick, 'budget', { path: '/quick' }, { threshold: 50 })
      await spend(slow, 60)
      let waiting = 0
      let most = 0
      const release: Array<() => void> = []
      const quickDone: string[] = []
      const post: Post = async (url) => {
        if (url.pathname === '/quick') quickDone.push(url.pathname)
        else {
          waiting += 1
          most = Math.max(most, waiting)
          await new Promise<void>((resolve) => release.push(resolve))
          waiting -= 1
        }
        return { status: 204, error: null, retryAfterSeconds: null }
      }
      const runner = world.runner('one', post)
      await runner.check()
      await spend(quick, 60)
      world.nowMs += 10 * SECOND
      await runner.check()
      await expect.poll(() => quickDone).toEqual(['/quick'])
      const done = runner.idle()
      const timer = setInterval(() => {
        release.shift()?.()
      }, 5)
      await done
      clearInterval(timer)
      expect(most).toBeLessThanOrEqual(2)
      expect((await world.deliveries(slow)).every(({ status }) => status === 'delivered')).toBe(true)
    })

    it('mails a summary of yesterday, and of last week on Mondays, once, from the day after it was asked for', async () => {
      const id = await world.enterprise({ timeZone: 'Asia/Tokyo' })
      await putSummary(database, id, { frequency: 'daily', recipients: ['a@example.com', 'b@example.com'] })
      // Tuesday, 10:00 in Tokyo.
      world.nowMs = Date.UTC(2026, 10, 10, 1)
      let runner = world.runner()
      await world.check(runner)
      await settle(id, 200, 30)
      await settle(id, 503, 10)
      await world.check(runner, 21 * HOUR + 59 * MINUTE)
      expect(world.letters).toEqual([])
      await world.check(runner, MINUTE)
      await runner.stop()
      runner = world.runner()
      await world.check(runner, HOUR)
      expect(world.letters.map(({ to }) => to).sort()).toEqual(['a@example.com', 'b@example.com'])
      expect(world.letters[0]).toMatchObject({ subject: 'Sluice daily summary, 2026-11-10' })
      expect(world.letters[0]?.text).toBe(
        [
          'Acme: 2026-11-10 (Asia/Tokyo)',
          '',
          'Requests: 40',
          'Spend: 40.00 USD',
          'Errors: 10 (25 %)',
          '',
          'Top models:',
          '  gpt: 40 requests, 40.00 USD',
          '',
          'Errors by status:',
          '  503: 10',
          '',
        ].join('\n'),
      )
      await putSummary(database, id, { frequency: 'weekly', recipients: ['c@example.com'] })
      await world.check(runner, MINUTE)
      for (let n = 0; n < 6 * 24; n++) await world.check(runner, HOUR)
      const weekly = world.letters.slice(2)
      expect(weekly).toMatchObject([
        { to: 'c@example.com', subject: 'Sluice weekly summary, 2026-11-09 to 2026-11-15' },
      ])
      expect(weekly[0]?.text).toContain('Requests: 40')
      await putSummary(database, id, { frequency: 'off', recipients: [] })
      for (let n = 0; n < 8; n++) await world.check(runner, DAY)
      expect(world.letters).toHaveLength(3)
    })

    it('sends nothing of an alert that is off, or of an enterprise that is', async () => {
      const id = await world.enterprise({ monthlyBudget: 100 })
      const off = await world.enterprise({ monthlyBudget: 100 })
      await world.alert(id, 'budget', { path: '/x' }, { enabled: false })
      await world.alert(off, 'budget', { path: '/x' })
      await database.query(`UPDATE enterprises SET status = 'disabled' WHERE id = $1`, [off])
      await spend(id, 100)
      await spend(off, 100)
      await world.check(world.runner())
      expect(world.receiver.received).toEqual([])
    })
  })
}
