import { afterAll, beforeAll, expect, it } from 'vitest'
import { findWallet } from '../../../src/ledger/wallet.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { TenantStore } from '../../support/tenant-store.ts'
import {
  AFFORDABLE,
  fillWallets,
  prepaidEnterprises,
  rush,
  RUSH,
  RUSH_CONFIG,
  rushKeys,
} from '../../support/wallet-rush.ts'

const ROUNDS = 20
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
  'admits exactly 100 of 1 000 concurrent requests to a wallet for 100, twenty times, and the books agree',
  { timeout: 600_000 },
  async () => {
    for (const enterprise of enterprises) {
      const { admitted, refused, others } = await rush([gateway.url], enterprise)
      expect(others).toEqual([])
      expect([admitted, refused]).toEqual([AFFORDABLE, RUSH - AFFORDABLE])
    }

    await eventually(
      async () => {
        expect(await gateway.logRows({ status: '200' })).toHaveLength(ROUNDS * AFFORDABLE)
      },
      { timeoutMs: 60_000 },
    )
    await gateway.end('SIGTERM')
    const balances = await store.use((database) =>
      Promise.all(enterprises.map(async ({ id }) => (await findWallet(database, id))?.balanceMicro)),
    )
    expect(balances).toEqual(enterprises.map(() => 0n))
    const { code, output } = store.reconcile()
    expect(output).toContain('The books agree.')
    expect(code).toBe(0)
  },
)
