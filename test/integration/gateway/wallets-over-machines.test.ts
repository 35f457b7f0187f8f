import { afterAll, beforeAll, describe, inject, it } from 'vitest'
import { ONE_REDIS } from '../../support/redis-kinds.ts'
import { WalletMachines } from '../../support/wallets-over-machines.ts'

describe.runIf(inject('database') === 'postgres').each([ONE_REDIS])('two machines with $kind', (kind) => {
  let machines: WalletMachines

  beforeAll(async () => {
    machines = await WalletMachines.start({ kind, wallets: 2 })
  }, 180_000)

  afterAll(() => machines.stop())

  it(
    'admit exactly 100 of 1 000 concurrent requests to a wallet for 100, twice, and the books agree',
    { timeout: 600_000 },
    async () => {
      await machines.expectExactWallets()
    },
  )
})
