import { afterAll, beforeAll, describe, inject, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import type { Machines } from '../../support/machines.ts'
import { startMachines } from '../../support/machines.ts'
import type { SharedRedis } from '../../support/redis-kinds.ts'
import { REDIS_KINDS } from '../../support/redis-kinds.ts'
import { TenantStore } from '../../support/tenant-store.ts'
import {
  expectExactWallets,
  fillWallets,
  prepaidEnterprises,
  RUSH_CONFIG,
  rushKeys,
} from '../../support/wallet-rush.ts'

const ROUNDS = 20

describe.runIf(inject('database') === 'postgres').each(REDIS_KINDS)('two machines with $kind', ({ start }) => {
  const enterprises = prepaidEnterprises(ROUNDS)
  let simulator: Simulator
  let redis: SharedRedis
  let store: TenantStore
  let machines: Machines

  beforeAll(async () => {
    simulator = await startSimulator()
    redis = await start()
    store = await TenantStore.make((database) => fillWallets(database, enterprises))
    machines = await startMachines({
      count: 2,
      redis: redis.settings,
      ...(store.url === null ? {} : { databaseUrl: store.url }),
      fronts: 1,
      upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
      keys: rushKeys(enterprises),
      config: RUSH_CONFIG,
    })
  }, 180_000)

  afterAll(async () => {
    await machines.stop()
    await redis.stop()
    await simulator.close()
    store.remove()
  })

  it(
    'admit exactly 100 of 1 000 concurrent requests to a wallet for 100, twenty times, and the books agree',
    { timeout: 600_000 },
    async () => {
      await expectExactWallets(machines.gateways, store, enterprises)
    },
  )
})
