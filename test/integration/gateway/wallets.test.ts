import { afterAll, beforeAll, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { dose } from '../../support/dose.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { TenantStore } from '../../support/tenant-store.ts'
import {
  expectExactWallets,
  fillWallets,
  prepaidEnterprises,
  RUSH_CONFIG,
  rushKeys,
} from '../../support/wallet-rush.ts'

const ROUNDS = dose('SLUICE_TEST_WALLETS', { short: 2, long: 20 })
const enterprises = prepaidEnterprises(ROUNDS)

let store: TenantStore
let simulator: Simulator
let gateway: TestGateway

beforeAll(async () => {
  simulator = await startSimulator()
  store = await TenantStore.make((database) => fillWallets(database, enterprises))
  gateway = await startGateway({
    ...store.options,
    fronts: 2,
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
    keys: rushKeys(enterprises),
    config: RUSH_CONFIG,
  })
}, 180_000)

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
  store.remove()
})

it(
  'admits exactly 100 of 1 000 concurrent requests to a wallet for 100, again and again, and the books agree',
  { timeout: 600_000 },
  async () => {
    await expectExactWallets([gateway], store, enterprises)
  },
)
