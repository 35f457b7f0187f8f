import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { generateApiKey } from '../../src/core/api-key.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { eventually } from '../support/eventually.ts'
import { startLimitedLoad } from '../support/limited-load.ts'
import { Load } from '../support/load.ts'
import type { Machines } from '../support/machines.ts'
import { startMachines } from '../support/machines.ts'
import { TestRedis } from '../support/redis.ts'

const SLOTS = 10
const OUTAGE_MS = 10_000
const REQUESTS_PER_MINUTE = 300

interface Outage {
  readonly name: string
  readonly begin: (redis: TestRedis) => Promise<void>
  readonly end: (redis: TestRedis) => Promise<void>
}

const OUTAGES: readonly Outage[] = [
  { name: 'paused', begin: (redis) => redis.kill('SIGSTOP'), end: (redis) => redis.kill('SIGCONT') },
  { name: 'killed and restarted empty', begin: (redis) => redis.kill('SIGKILL'), end: (redis) => redis.restart() },
]

describe.runIf(inject('database') === 'postgres')('Redis is', () => {
  let simulator: Simulator
  let redis: TestRedis
  let machines: Machines
  const keys = OUTAGES.map(({ name }) => ({ name, key: generateApiKey(), rpm: REQUESTS_PER_MINUTE }))

  beforeAll(async () => {
    simulator = await startSimulator()
    redis = await TestRedis.start()
    machines = await startMachines({
      count: 2,
      redis: { url: redis.url },
      fronts: 2,
      upstreams: [
        {
          dialect: 'openai-chat',
          baseUrl: `${simulator.origin}/v1`,
          models: ['m'],
          keys: [{ id: 'shared', credential: 'shared-credential', max_concurrency: SLOTS }],
        },
      ],
      keys,
      config: { upstream: { queue_wait_ms: 60_000 } },
    })
  })

  afterEach(() => redis.kill('SIGCONT'))

  afterAll(async () => {
    await machines.stop()
    await redis.stop()
    await simulator.close()
  })

  it.each(OUTAGES)(
    '$name for ten seconds: no request fails, and limits hold',
    { timeout: 240_000 },
    async ({ name, begin, end }) => {
      const loads = machines.gateways.map(
        ({ url }, index) =>
          new Load({
            url,
            apiKey: machines.apiKey,
            clients: 8,
            name: `${name}-${index}`,
            message: (n) => `hello ${n} [[sim {"tokens":3,"ttftMs":20,"eventsPerSecond":200}]]`,
            timeoutMs: 90_000,
          }),
      )
      const limited = machines.gateways.map(({ url }) =>
        startLimitedLoad({
          url,
          apiKey: keys.find((key) => key.name === name)?.key ?? '',
          clients: 4,
          maxWaitMs: 300,
          body: { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'hello [[sim {"tokens":2}]]' }] },
        }),
      )
      const startedMs = Date.now()
      const after = (ms: number): Promise<void> =>
        eventually(
          () => {
            expect(Date.now() - startedMs).toBeGreaterThan(ms)
          },
          { timeoutMs: ms + 20_000 },
        )
      await after(2_000)
      await begin(redis)
      await after(2_000 + OUTAGE_MS)
      const during = loads.map((load) => load.served)
      await end(redis)
      await after(2_000 + OUTAGE_MS + 6_000)
      const afterwards = loads.map((load) => load.served)
      const outcomes = await Promise.all(limited.map((load) => load.stop()))
      const fates = (await Promise.all(loads.map((load) => load.stop()))).flat()

      expect(fates.filter(({ status }) => status !== 200)).toEqual([])
      expect(outcomes.flatMap(({ others }) => others)).toEqual([])
      // All of it fits into one window.
      expect(outcomes.reduce((sum, { admitted }) => sum + admitted.length, 0)).toBeLessThanOrEqual(REQUESTS_PER_MINUTE)
      expect(simulator.stats().keys['shared-credential']?.maxInFlight).toBeLessThanOrEqual(SLOTS)
      for (const [index, served] of afterwards.entries()) expect(served).toBeGreaterThan((during[index] ?? 0) + 20)
    },
  )
})
