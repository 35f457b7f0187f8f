import { expect } from 'vitest'
import { generateApiKey } from '../../src/shared/core/api-key.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { eventually } from './eventually.ts'
import { startLimitedLoad } from './limited-load.ts'
import { Load } from './load.ts'
import type { Machines } from './machines.ts'
import { startMachines } from './machines.ts'
import type { RedisKind, SharedRedis } from './redis-kinds.ts'

const REQUESTS_PER_MINUTE = 400
/** At least so many are admitted on any machine: the part that a front without requests has leased is lost for the window. */
const LEAST_ADMITTED = 0.99 * REQUESTS_PER_MINUTE
const SLOTS = 10
const CLIENTS = 80

/** Two machines that share a Redis, an entry key with a limit, and an upstream key with few slots. */
export class LimitedMachines {
  readonly #simulator: Simulator
  readonly #redis: SharedRedis
  readonly #machines: Machines
  readonly #limitedKey: string

  private constructor(parts: { simulator: Simulator; redis: SharedRedis; machines: Machines; limitedKey: string }) {
    this.#simulator = parts.simulator
    this.#redis = parts.redis
    this.#machines = parts.machines
    this.#limitedKey = parts.limitedKey
  }

  static async start(kind: RedisKind): Promise<LimitedMachines> {
    const limitedKey = generateApiKey()
    const simulator = await startSimulator()
    const redis = await kind.start()
    const machines = await startMachines({
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
      keys: [{ name: 'limited', key: limitedKey, rpm: REQUESTS_PER_MINUTE }],
      config: { upstream: { queue_wait_ms: 60_000 } },
    })
    return new LimitedMachines({ simulator, redis, machines, limitedKey })
  }

  async stop(): Promise<void> {
    await this.#machines.stop()
    await this.#redis.stop()
    await this.#simulator.close()
  }

  /** Uses up the window from both machines, until each has refused `refusals` requests. Expects no more than the limit. */
  async expectLimit({ refusals }: { readonly refusals: number }): Promise<void> {
    const loads = this.#machines.gateways.map(({ url }) =>
      startLimitedLoad({
        url,
        apiKey: this.#limitedKey,
        clients: 20,
        maxWaitMs: 500,
        body: { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'hello [[sim {"tokens":2}]]' }] },
      }),
    )
    const admitted = (): number => loads.reduce((sum, { outcome }) => sum + outcome.admitted.length, 0)
    // This ends within the window.
    await eventually(
      () => {
        expect(admitted()).toBeGreaterThanOrEqual(LEAST_ADMITTED)
        expect(Math.min(...loads.map(({ outcome }) => outcome.refused))).toBeGreaterThanOrEqual(refusals)
      },
      { timeoutMs: 50_000 },
    ).finally(() => Promise.all(loads.map((load) => load.stop())))
    expect(loads.flatMap(({ outcome }) => outcome.others)).toEqual([])
    console.log(`over two machines: ${admitted()} of ${REQUESTS_PER_MINUTE} requests of one window admitted`)
    expect(admitted()).toBeLessThanOrEqual(REQUESTS_PER_MINUTE)
    const shares = loads.map(({ outcome }) => outcome.admitted.length)
    expect(Math.min(...shares)).toBeGreaterThan(0)
  }

  /** Sends requests through the slots of one upstream key from both machines. Expects that all slots are used, and no more. */
  async expectSlots({ requests }: { readonly requests: number }): Promise<void> {
    const loads = this.#machines.gateways.map(
      ({ url }, index) =>
        new Load({
          url,
          apiKey: this.#machines.apiKey,
          clients: CLIENTS / 2,
          name: `slots-${index}`,
          message: (n) => `hello ${n} [[sim {"tokens":5,"ttftMs":${20 + (n % 7) * 10},"eventsPerSecond":200}]]`,
          isStream: (n) => n % 3 === 0,
          timeoutMs: 90_000,
        }),
    )
    await eventually(
      () => {
        expect(Math.min(...loads.map((load) => load.served))).toBeGreaterThanOrEqual(requests / 4)
        expect(loads.reduce((sum, load) => sum + load.served, 0)).toBeGreaterThanOrEqual(requests)
      },
      { timeoutMs: 120_000 },
    ).finally(() => Promise.all(loads.map((load) => load.stop())))
    const fates = loads.flatMap((load) => load.fates)
    expect(fates.filter(({ status }) => status !== 200)).toEqual([])
    expect(this.#simulator.stats().keys['shared-credential']).toMatchObject({ inFlight: 0, maxInFlight: SLOTS })
  }
}
