import { expect } from 'vitest'
import { generateApiKey } from '../../src/shared/core/api-key.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { eventually } from './eventually.ts'
import { startLimitedLoad } from './limited-load.ts'
import { Load } from './load.ts'
import type { Machines } from './machines.ts'
import { startMachines } from './machines.ts'

const MACHINES = 2
/** Fronts of each machine. */
const FRONTS = 2
const SLOTS = 10
const REQUESTS_PER_MINUTE = 300
const CALM_MS = 2_000
const PATIENCE_MS = 60_000
/** Requests that each machine must serve after an outage. */
const SERVED_AGAIN = 20

export interface Outage {
  readonly name: string
  readonly begin: () => Promise<void>
  readonly end: () => Promise<void>
}

/** Two machines that share a Redis, a limited upstream key, and an entry key with a limit for each outage. */
export class OutageWorld {
  readonly #simulator: Simulator
  readonly #machines: Machines
  readonly #keys: ReadonlyMap<string, string>

  private constructor(simulator: Simulator, machines: Machines, keys: ReadonlyMap<string, string>) {
    this.#simulator = simulator
    this.#machines = machines
    this.#keys = keys
  }

  /** @param redis the `redis` section of the configuration file */
  static async start(redis: Record<string, unknown>, outages: readonly string[]): Promise<OutageWorld> {
    const simulator = await startSimulator()
    const keys = outages.map((name) => ({ name, key: generateApiKey(), rpm: REQUESTS_PER_MINUTE }))
    const machines = await startMachines({
      count: MACHINES,
      redis,
      fronts: FRONTS,
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
    return new OutageWorld(simulator, machines, new Map(keys.map(({ name, key }) => [name, key])))
  }

  /** Causes an outage under load on both machines. Expects no failure, kept limits and slots, and service after it. */
  async rideOut({ name, begin, end }: Outage, outageMs: number): Promise<void> {
    const loads = this.#machines.gateways.map(
      ({ url }, index) =>
        new Load({
          url,
          apiKey: this.#machines.apiKey,
          clients: 8,
          name: `${name}-${index}`,
          message: (n) => `hello ${n} [[sim {"tokens":3,"ttftMs":20,"eventsPerSecond":200}]]`,
          timeoutMs: 90_000,
        }),
    )
    const limited = this.#machines.gateways.map(({ url }) =>
      startLimitedLoad({
        url,
        apiKey: this.#keys.get(name) ?? '',
        clients: 4,
        maxWaitMs: 300,
        body: { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'hello [[sim {"tokens":2}]]' }] },
      }),
    )
    const startedMs = Date.now()
    await reached(startedMs + CALM_MS)
    await begin()
    await reached(startedMs + CALM_MS + outageMs)
    const during = loads.map((load) => load.served)
    await end()
    await eventually(
      () => {
        for (const [index, load] of loads.entries())
          expect(load.served).toBeGreaterThan((during[index] ?? 0) + SERVED_AGAIN)
      },
      { timeoutMs: PATIENCE_MS },
    )
    const outcomes = await Promise.all(limited.map((load) => load.stop()))
    const fates = (await Promise.all(loads.map((load) => load.stop()))).flat()

    expect(fates.filter(({ status }) => status !== 200)).toEqual([])
    expect(outcomes.flatMap(({ others }) => others)).toEqual([])
    // The whole outage is within one window.
    const admitted = outcomes.reduce((sum, outcome) => sum + outcome.admitted.length, 0)
    expect(admitted).toBeLessThanOrEqual(REQUESTS_PER_MINUTE)
    // Each machine has a front with clients. Without Redis each front may use its part of the half that is set aside for outages.
    expect(admitted).toBeGreaterThanOrEqual(MACHINES * Math.floor(REQUESTS_PER_MINUTE / (2 * MACHINES * FRONTS)))
    expect(this.#simulator.stats().keys['shared-credential']?.maxInFlight).toBeLessThanOrEqual(SLOTS)
  }

  async stop(): Promise<void> {
    await this.#machines.stop()
    await this.#simulator.close()
  }
}

function reached(atMs: number): Promise<void> {
  return eventually(
    () => {
      expect(Date.now()).toBeGreaterThan(atMs)
    },
    { timeoutMs: atMs - Date.now() + 20_000 },
  )
}
