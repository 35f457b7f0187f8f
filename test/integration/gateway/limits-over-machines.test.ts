import { afterAll, beforeAll, describe, inject, it } from 'vitest'
import { LimitedMachines } from '../../support/limits-over-machines.ts'
import { REDIS_CLUSTER } from '../../support/redis-kinds.ts'

describe.runIf(inject('database') === 'postgres').each([REDIS_CLUSTER])('two machines with $kind', (kind) => {
  let machines: LimitedMachines

  beforeAll(async () => {
    machines = await LimitedMachines.start(kind)
  })

  afterAll(() => machines.stop())

  it('admits what a limit says over both', { timeout: 120_000 }, async () => {
    await machines.expectLimit({ refusals: 100 })
  })

  it('uses all slots of an upstream key from both, and never one more', { timeout: 180_000 }, async () => {
    await machines.expectSlots({ requests: 400 })
  })
})
