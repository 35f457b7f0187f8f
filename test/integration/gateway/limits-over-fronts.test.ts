import { afterAll, beforeAll, expect, it } from 'vitest'
import { generateApiKey } from '../../../src/core/api-key.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { startLimitedLoad } from '../../support/limited-load.ts'
import { mostInAWindow, mostSurelyInAWindow } from '../../support/most-in-a-window.ts'

const FRONTS = 4
const REQUESTS_PER_MINUTE = 500
const TOKENS_PER_MINUTE = 20_000
/** Two windows of sixty-one seconds begin in it: the second has the time to be used that a busy machine took to use the first. */
const LOAD_MS = 80_000
const requestKey = generateApiKey()
const tokenKey = generateApiKey()
const headerKey = generateApiKey()

let simulator: Simulator
let gateway: TestGateway

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({
    fronts: FRONTS,
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
    keys: [
      { name: 'requests', key: requestKey, rpm: REQUESTS_PER_MINUTE },
      { name: 'tokens', key: tokenKey, tpm: TOKENS_PER_MINUTE },
      { name: 'headers', key: headerKey, rpm: 1_000 },
    ],
  })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

it(
  'admits what the limits say in every window of 60 seconds, to 200 clients of one key over four fronts',
  { timeout: 240_000 },
  async () => {
    const steered = '[[sim {"tokens":20,"ttftMs":30}]]'
    const chat = (maxTokens: number) => ({
      model: 'm',
      max_tokens: maxTokens,
      messages: [{ role: 'user', content: `hello ${steered}` }],
    })
    const startedMs = Date.now()
    const requests = startLimitedLoad({
      url: gateway.url,
      apiKey: requestKey,
      clients: 200,
      maxWaitMs: 2_000,
      body: chat(50),
    })
    const tokens = startLimitedLoad({
      url: gateway.url,
      apiKey: tokenKey,
      clients: 60,
      maxWaitMs: 2_000,
      body: chat(100),
    })
    await eventually(
      () => {
        expect(Date.now() - startedMs).toBeGreaterThan(LOAD_MS)
      },
      { timeoutMs: LOAD_MS + 20_000 },
    )
    const [byRequests, byTokens] = await Promise.all([requests.stop(), tokens.stop()])
    expect(byRequests.others).toEqual([])
    expect(byTokens.others).toEqual([])

    const rows = await eventually(
      async () => {
        const served = await gateway.logRows({ status: '200' })
        expect(served).toHaveLength(byRequests.admitted.length + byTokens.admitted.length)
        return served
      },
      { timeoutMs: 60_000 },
    )
    const byId = new Map(rows.map((row) => [row.id, row]))
    // A request is charged between its beginning and its end.
    const charges = (ids: readonly string[], amountOf: (row: (typeof rows)[number]) => number) =>
      ids
        .map((id) => byId.get(id))
        .filter((row) => row !== undefined)
        .map((row) => ({ fromMs: Date.parse(row.time), totalMs: row.total_us / 1000, amount: amountOf(row) }))
        .map(({ fromMs, totalMs, amount }) => ({ fromMs, toMs: fromMs + 1 + totalMs, amount }))
        .sort((a, b) => a.fromMs - b.fromMs)
    const asTheyCame = (of: ReturnType<typeof charges>) => of.map(({ fromMs, amount }) => [fromMs, amount] as const)
    const requestCharges = charges(byRequests.admitted, () => 1)
    const tokenCharges = charges(byTokens.admitted, (row) => row.prompt_tokens + row.completion_tokens)
    const reservation = 150

    expect(requestCharges).toHaveLength(byRequests.admitted.length)
    expect(mostSurelyInAWindow(requestCharges)).toBeLessThanOrEqual(REQUESTS_PER_MINUTE)
    expect(mostInAWindow(asTheyCame(requestCharges))).toBeGreaterThanOrEqual(REQUESTS_PER_MINUTE)
    expect(byRequests.admitted).toHaveLength(2 * REQUESTS_PER_MINUTE)
    expect(mostSurelyInAWindow(tokenCharges)).toBeLessThanOrEqual(TOKENS_PER_MINUTE)
    expect(mostInAWindow(asTheyCame(tokenCharges))).toBeGreaterThan(TOKENS_PER_MINUTE - reservation)
    const total = tokenCharges.reduce((sum, { amount }) => sum + amount, 0)
    expect(total).toBeGreaterThan(2 * TOKENS_PER_MINUTE * 0.95)
    expect(byRequests.refused).toBeGreaterThan(200)
  },
)

it('tells what is left over all fronts, to a hundred clients at once and to the one after them', async () => {
  const ask = async (): Promise<number> => {
    const answer = await fetch(`${gateway.url}/v1/models`, {
      headers: { authorization: `Bearer ${headerKey}`, connection: 'close' },
    })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-ratelimit-limit-requests')).toBe('1000')
    expect(Number(answer.headers.get('x-ratelimit-reset-requests'))).toBeGreaterThan(55)
    return Number(answer.headers.get('x-ratelimit-remaining-requests'))
  }
  const told = await Promise.all(Array.from({ length: 100 }, ask))
  for (const left of told) {
    expect(left).toBeGreaterThanOrEqual(900)
    expect(left).toBeLessThan(1_000)
  }
  let asked = 100
  await eventually(async () => {
    asked += 1
    expect(await ask()).toBe(1_000 - asked)
  })
})
