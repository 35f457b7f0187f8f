import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { generateApiKey } from '../../../src/core/api-key.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { eventually } from '../../support/eventually.ts'
import { startLimitedLoad } from '../../support/limited-load.ts'
import { Load } from '../../support/load.ts'
import type { Machines } from '../../support/machines.ts'
import { startMachines } from '../../support/machines.ts'
import type { SharedRedis } from '../../support/redis-kinds.ts'
import { REDIS_KINDS } from '../../support/redis-kinds.ts'

const REQUESTS_PER_MINUTE = 400
const SLOTS = 10
const CLIENTS = 80
const REQUESTS = 2_000
const requestKey = generateApiKey()

describe.runIf(inject('database') === 'postgres').each(REDIS_KINDS)('two machines with $kind', ({ start }) => {
  let simulator: Simulator
  let redis: SharedRedis
  let machines: Machines

  beforeAll(async () => {
    simulator = await startSimulator()
    redis = await start()
    machines = await startMachines({
      count: 2,
      redis: redis.settings,
      fronts: 2,
      upstreams: [
        {
          dialect: 'openai-chat',
          baseUrl: `${simulator.origin}/v1`,
          models: ['m'],
          keys: [{ id: 'shared', credential: 'shared-credential', max_concurrency: SLOTS }],
        },
      ],
      keys: [{ name: 'limited', key: requestKey, rpm: REQUESTS_PER_MINUTE }],
      config: { upstream: { queue_wait_ms: 60_000 } },
    })
  })

  afterAll(async () => {
    await machines.stop()
    await redis.stop()
    await simulator.close()
  })

  it('admits what a limit says over both', { timeout: 120_000 }, async () => {
    const startedMs = Date.now()
    const loads = machines.gateways.map(({ url }) =>
      startLimitedLoad({
        url,
        apiKey: requestKey,
        clients: 20,
        maxWaitMs: 500,
        body: { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'hello [[sim {"tokens":2}]]' }] },
      }),
    )
    // The window is used up in much less, and has not passed then.
    await eventually(
      () => {
        expect(Date.now() - startedMs).toBeGreaterThan(25_000)
      },
      { timeoutMs: 40_000 },
    )
    const outcomes = await Promise.all(loads.map((load) => load.stop()))
    expect(outcomes.flatMap(({ others }) => others)).toEqual([])
    const admitted = outcomes.map((outcome) => outcome.admitted.length)
    expect((admitted[0] ?? 0) + (admitted[1] ?? 0)).toBe(REQUESTS_PER_MINUTE)
    expect(Math.min(...admitted)).toBeGreaterThan(REQUESTS_PER_MINUTE / 10)
  })

  it('uses all slots of an upstream key from both, and never one more', { timeout: 180_000 }, async () => {
    const loads = machines.gateways.map(
      ({ url }, index) =>
        new Load({
          url,
          apiKey: machines.apiKey,
          clients: CLIENTS / 2,
          name: `slots-${index}`,
          message: (n) => `hello ${n} [[sim {"tokens":5,"ttftMs":${20 + (n % 7) * 10},"eventsPerSecond":200}]]`,
          isStream: (n) => n % 3 === 0,
          timeoutMs: 90_000,
        }),
    )
    await eventually(
      () => {
        expect(Math.min(...loads.map((load) => load.served))).toBeGreaterThanOrEqual(REQUESTS / 4)
        expect(loads.reduce((sum, load) => sum + load.served, 0)).toBeGreaterThanOrEqual(REQUESTS)
      },
      { timeoutMs: 120_000 },
    )
    const fates = (await Promise.all(loads.map((load) => load.stop()))).flat()
    expect(fates.filter(({ status }) => status !== 200)).toEqual([])
    expect(simulator.stats().keys['shared-credential']).toMatchObject({ inFlight: 0, maxInFlight: SLOTS })
  })
})
