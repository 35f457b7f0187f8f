import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { dose } from '../../support/dose.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { Load } from '../../support/load.ts'

const KEYS = 10
/** Fewer than fronts: no front can have a part of its own. */
const SLOTS = 3
const FRONTS = 4
const CLIENTS = 200
const REQUESTS = dose('SLUICE_TEST_SLOT_REQUESTS', { short: 600, long: 3_000 })

let simulator: Simulator
let gateway: TestGateway

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({
    fronts: FRONTS,
    upstreams: [
      {
        dialect: 'openai-chat',
        baseUrl: `${simulator.origin}/v1`,
        models: ['m'],
        keys: Array.from({ length: KEYS }, (_, index) => ({
          id: `key-${index}`,
          credential: `credential-${index}`,
          max_concurrency: SLOTS,
        })),
      },
    ],
    config: { upstream: { queue_wait_ms: 60_000 } },
  })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

it(
  'uses the slots of ten keys to the full from four fronts, and never one more than there are',
  { timeout: 180_000 },
  async () => {
    const load = new Load({
      url: gateway.url,
      apiKey: gateway.apiKey,
      clients: CLIENTS,
      name: 'slots',
      message: (n) => `hello ${n} [[sim {"tokens":5,"ttftMs":${20 + (n % 7) * 10},"eventsPerSecond":200}]]`,
      isStream: (n) => n % 3 === 0,
      timeoutMs: 90_000,
    })
    await eventually(
      () => {
        expect(load.served).toBeGreaterThanOrEqual(REQUESTS)
      },
      { timeoutMs: 120_000 },
    )
    const fates = await load.stop()
    expect(fates.filter(({ status }) => status !== 200)).toEqual([])
    const { keys } = simulator.stats()
    for (let index = 0; index < KEYS; index++) {
      expect(keys[`credential-${index}`]).toMatchObject({ inFlight: 0, maxInFlight: SLOTS })
    }
  },
)
