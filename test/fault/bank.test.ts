import { Agent, request } from 'undici'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { findWallet, moveWallet } from '../../src/control/ledger/wallet.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { dose } from '../support/dose.ts'
import { eventually } from '../support/eventually.ts'
import type { TestGateway } from '../support/gateway.ts'
import { startGateway } from '../support/gateway.ts'
import { ManagementClient } from '../support/management-client.ts'
import { killChild, recovered, seededRandom } from '../support/nemesis.ts'
import { TEST_SEED } from '../support/seed.ts'
import { TenantStore } from '../support/tenant-store.ts'

const SEED = TEST_SEED
const KILLS = dose('SLUICE_TEST_BANK_KILLS', { short: 1, long: 8 })
const FRONTS = 2
const CLIENTS = 12
/** What killed processes held comes back when it runs out: by then all of it is spent. */
const PATIENCE_MS = 180_000
/** What there is to spend, in micro-units: enough to last while processes are killed. */
const WALLETS = { acme: 6_000 * KILLS, bolt: 4_000 * KILLS }
const RESEARCH_BUDGET = 2_000 * KILLS
const OWN_BUDGET = 1_500 * KILLS

interface Fate {
  readonly status: number
  /** Of an error. */
  readonly code: string
  readonly requestId: string
  /** Tokens of the answer, one micro-unit each. */
  readonly cost: number
}

const keys: string[] = []
const random = seededRandom(SEED)
const dispatcher = new Agent({ connections: CLIENTS, pipelining: 1 })
let store: TenantStore
let simulator: Simulator
let gateway: TestGateway

beforeAll(async () => {
  simulator = await startSimulator()
  store = await TenantStore.make(async (database, issue) => {
    for (const [id, amount] of Object.entries(WALLETS)) {
      await database.query('INSERT INTO enterprises (id, name, is_prepaid) VALUES ($1, $1, true)', [id])
      const topUp = { id: `top-up-${id}`, enterpriseId: id, kind: 'topup', reference: null, actor: null } as const
      await moveWallet(database, { ...topUp, amountMicro: BigInt(amount) })
    }
    await database.query(
      `INSERT INTO departments (id, enterprise_id, parent_id, name, monthly_budget)
        VALUES ('research', 'acme', NULL, 'Research', $1), ('lab', 'acme', 'research', 'Laboratory', NULL)`,
      [RESEARCH_BUDGET],
    )
    keys.push(
      await issue({ enterpriseId: 'acme', departmentId: 'lab' }),
      await issue({ enterpriseId: 'acme', departmentId: 'research' }),
      await issue({ enterpriseId: 'acme' }),
      await issue({ enterpriseId: 'bolt', budget: { moneyMicro: OWN_BUDGET, tokens: null } }),
      await issue({ enterpriseId: 'bolt' }),
    )
  })
  gateway = await startGateway({
    ...store.options,
    fronts: FRONTS,
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
    config: { models: [{ id: 'm', prices: { input: 0, output: 1_000_000 } }] },
  })
}, 180_000)

afterAll(async () => {
  await dispatcher.close()
  await gateway.end('SIGKILL')
  await simulator.close()
  store.remove()
})

/** Status 0: no whole answer came. */
async function spend(key: string, cost: number, worst: number, delayMs: number): Promise<Fate> {
  try {
    const answer = await request(`${gateway.url}/v1/chat/completions`, {
      dispatcher,
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'm',
        max_tokens: worst,
        messages: [{ role: 'user', content: `[[sim {"tokens":${cost},"ttftMs":${delayMs}}]]` }],
      }),
    })
    const text = await answer.body.text()
    const code = answer.statusCode === 200 ? '' : (/"code":"(\w+)"/.exec(text)?.[1] ?? '')
    return { status: answer.statusCode, code, requestId: String(answer.headers['x-request-id']), cost }
  } catch {
    return { status: 0, code: '', requestId: '', cost }
  }
}

/** Requests of one cost until one is refused. */
async function useUp(key: string, cost: number): Promise<Fate[]> {
  const fates: Fate[] = []
  do fates.push(await spend(key, cost, cost, 0))
  while (fates.at(-1)?.status === 200)
  return fates
}

/** As management tells it: settled money. */
async function balances(): Promise<Record<string, unknown>> {
  const admin = await ManagementClient.ofAdmin(gateway)
  const entries = Object.keys(WALLETS).map(async (id) => {
    const { json } = await admin.expect('getWallet', 200, { params: { id } })
    return [id, json['balance']] as const
  })
  return Object.fromEntries(await Promise.all(entries))
}

/** Resolves when the gateway takes requests. */
async function serving(): Promise<void> {
  await eventually(async () => (await fetch(`${gateway.url}/health/live`)).arrayBuffer(), { timeoutMs: 60_000 })
}

it(
  'charges every request once and overdraws nothing, over kills at random moments, and loses nothing of what is left',
  { timeout: 3_600_000 },
  async () => {
    console.log(`seed ${SEED}, ${KILLS} kills`)
    const fates: Fate[] = []
    const stopping = new AbortController()
    const clients = Array.from({ length: CLIENTS }, async () => {
      while (!stopping.signal.aborted) {
        const key = keys[Math.floor(random() * keys.length)] ?? ''
        const cost = 1 + Math.floor(random() * 40)
        const fate = await spend(key, cost, cost + Math.floor(random() * 40), Math.floor(random() * 300))
        fates.push(fate)
        if (fate.status === 0) await serving()
      }
    })
    for (let kill = 0; kill < KILLS; kill++) {
      const atLeast = fates.length + Math.floor(random() * 100)
      await expect.poll(() => fates.length, { timeout: 120_000, interval: 5 }).toBeGreaterThanOrEqual(atLeast)
      const children = gateway.children().filter(({ kind }) => kind !== 'simulator')
      const victim = children[Math.floor(random() * children.length)]
      if (victim === undefined || victim.kind === 'simulator') throw new Error('nobody to kill')
      await killChild(gateway, victim.kind, victim.pid)
      await recovered(gateway, FRONTS)
    }
    stopping.abort()
    await Promise.all(clients)
    // What is left is used up, in ever smaller pieces; what killed processes held comes back meanwhile.
    await eventually(
      async () => {
        for (const piece of [1_000, 100, 10, 1])
          await Promise.all(keys.map(async (key) => fates.push(...(await useUp(key, piece)))))
        expect(await balances()).toEqual({ acme: 0, bolt: 0 })
      },
      { timeoutMs: PATIENCE_MS, everyMs: 250 },
    )
    expect(await gateway.end('SIGTERM')).toBe(0)

    const counts = new Map<number, number>()
    for (const { status } of fates) counts.set(status, (counts.get(status) ?? 0) + 1)
    const unavailable = new Set(fates.filter(({ status }) => status === 503).map(({ code }) => code))
    console.log(`503: ${[...unavailable].join(', ')}`)
    console.log(`answers by status: ${JSON.stringify(Object.fromEntries(counts))}`)
    // 503: a budget was asked for while the control process was away for longer than a request waits.
    expect([...counts.keys()].filter((status) => ![0, 200, 429, 503].includes(status))).toEqual([])

    const { code, output } = store.reconcile()
    console.log(output.trim())
    expect([code, output]).toEqual([0, expect.stringContaining('The books agree.')])
    await store.use(async (database) => {
      const rows = await database.query<{ id: string; cost_micro: number }>('SELECT id, cost_micro FROM request_log')
      const costs = new Map(rows.map(({ id, cost_micro }) => [id, cost_micro]))
      expect(costs.size).toBe(rows.length)
      const known = fates.filter(({ status }) => status === 200)
      expect(known.filter(({ requestId, cost }) => costs.get(requestId) !== cost)).toEqual([])
      const answered = new Set(known.map(({ requestId }) => requestId))
      const others = rows.filter(({ id, cost_micro }) => !answered.has(id) && cost_micro > 0)
      // Charged and not seen by the client: answers that were on their way when their front was killed.
      expect(others.length).toBeLessThanOrEqual(counts.get(0) ?? 0)

      for (const id of Object.keys(WALLETS))
        expect([id, (await findWallet(database, id))?.balanceMicro]).toEqual([id, 0n])
      const [research] = await database.query<{ used: number }>(
        `SELECT coalesce(sum(cost_micro), 0)::int8 AS used FROM budget_use WHERE starts_with(budget, 'department:research:')`,
      )
      expect(research?.used).toBeLessThanOrEqual(RESEARCH_BUDGET)
      const [most] = await database.query<{ used: number }>(
        `SELECT coalesce(sum(b.cost_micro), 0)::int8 AS used FROM budget_use b JOIN entry_keys k
          ON starts_with(b.budget, 'key:' || k.id || ':') WHERE k.monthly_budget IS NOT NULL`,
      )
      expect(most?.used).toBeLessThanOrEqual(OWN_BUDGET)
    })
  },
)
