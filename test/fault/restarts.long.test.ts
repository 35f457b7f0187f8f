import { rmSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { generateApiKey } from '../../src/shared/core/api-key.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { eventually } from '../support/eventually.ts'
import type { LimitedOutcome } from '../support/limited-load.ts'
import { startLimitedLoad } from '../support/limited-load.ts'
import { mostAtATime } from '../support/most-at-a-time.ts'
import { mostSurelyInAWindow } from '../support/most-in-a-window.ts'
import { TestRedis } from '../support/redis.ts'
import { SuccessiveGateways, migrateRequests } from '../support/successive-gateways.ts'
import type { SuccessiveOptions } from '../support/successive-gateways.ts'

const FRONTS = 2
/** Of one key: more at a time than any front has by itself. */
const PLACES = 3
/** Of another key, per minute. */
const REQUESTS = 60
const CLIENTS = 8

let redis: TestRedis
let simulator: Simulator
let gateways: SuccessiveGateways | null = null
let setBack = (): void => undefined

beforeAll(async () => {
  setBack = migrateRequests()
  redis = await TestRedis.start()
  simulator = await startSimulator()
})

afterEach(async () => {
  await gateways?.current.stop()
  if (gateways !== null) rmSync(gateways.current.dataDir, { recursive: true, force: true })
  gateways = null
})

afterAll(async () => {
  await simulator.close()
  await redis.stop()
  setBack()
})

const kinds = [
  { name: 'two fronts each', redisUrl: () => null },
  { name: 'two fronts each and a Redis', redisUrl: () => redis.url },
]

it.each(kinds)('loses no connection between gateways with $name', { timeout: 900_000 }, async ({ redisUrl }) => {
  gateways = await SuccessiveGateways.start(optionsOf(redisUrl()))
  await gateways.expectNoneLost({ connections: 2_000, rate: 100, restarts: 2 })
})

it.each(kinds)(
  'gives no key more than its limits while fronts of two gateways serve, with $name',
  { timeout: 300_000 },
  async ({ redisUrl }) => {
    const [few, scarce] = [generateApiKey(), generateApiKey()]
    const keys = [
      { name: 'few', key: few, max_concurrency: PLACES },
      { name: 'scarce', key: scarce, rpm: REQUESTS },
    ]
    gateways = await SuccessiveGateways.start({ ...optionsOf(redisUrl()), keys })
    const { url } = gateways.current
    const loads = [load(url, few, 'few'), load(url, scarce, 'scarce')] as const
    const [byPlaces, byWindow] = loads.map(({ outcome }) => outcome) as [LimitedOutcome, LimitedOutcome]
    const isServed = async (): Promise<void> => {
      const goal = byPlaces.admitted.length + 5 * PLACES
      await eventually(() => expect(byPlaces.admitted.length).toBeGreaterThanOrEqual(goal), { timeoutMs: 60_000 })
    }
    await isServed()
    for (let restart = 0; restart < 3; restart++) {
      const leaving = await gateways.replace({ isLast: restart === 2 })
      await isServed()
      expect(await leaving.over()).toBe(0)
    }
    await isServed()
    await Promise.all(loads.map(({ stop }) => stop()))

    expect([...byPlaces.others, ...byWindow.others]).toEqual([])
    const records = simulator.ledger.records().filter(({ user }) => user === 'few')
    // From when a request was read to its first byte its place was surely taken.
    const surely = records.map((record) => ({ ...record, endedAt: record.firstByteAt ?? record.startedAt }))
    expect(mostAtATime(surely, 0, new Set()).length).toBe(PLACES)
    const charges = await chargesOf(gateways, byWindow.admitted)
    expect(mostSurelyInAWindow(charges)).toBeLessThanOrEqual(REQUESTS)
    expect(charges.length).toBeGreaterThanOrEqual(REQUESTS / 2)
    simulator.reset()
  },
)

function optionsOf(redisUrl: string | null): SuccessiveOptions {
  return {
    fronts: FRONTS,
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
    ...(redisUrl === null ? {} : { env: { REDIS_URL: redisUrl } }),
  }
}

function load(url: string, apiKey: string, user: string): ReturnType<typeof startLimitedLoad> {
  const message = { role: 'user', content: '[[sim {"tokens":2,"ttftMs":60}]]' }
  return startLimitedLoad({
    url,
    apiKey,
    clients: CLIENTS,
    maxWaitMs: 50,
    body: { model: 'm', user, messages: [message] },
  })
}

/** When each was charged, as the log tells. */
async function chargesOf(
  { current }: SuccessiveGateways,
  ids: readonly string[],
): Promise<Array<{ readonly fromMs: number; readonly toMs: number; readonly amount: number }>> {
  const wanted = new Set(ids)
  return eventually(
    async () => {
      const rows = (await current.logRows({ status: '200' })).filter(({ id }) => wanted.has(id))
      expect(rows).toHaveLength(ids.length)
      return rows.map(({ time, total_us }) => {
        const fromMs = Date.parse(time)
        return { fromMs, toMs: fromMs + 1 + total_us / 1000, amount: 1 }
      })
    },
    { timeoutMs: 60_000, everyMs: 250 },
  )
}
