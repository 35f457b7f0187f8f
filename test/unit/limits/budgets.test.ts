import { expect, it } from 'vitest'
import type { LeaseReply } from '../../../src/shared/core/allowance.ts'
import { InProcessAuthority } from '../../../src/control/leases/in-process-authority.ts'
import { budgetsContract } from '../../contract/budgets.ts'
import { dose } from '../../support/dose.ts'
import { BUDGET } from '../../support/budget-world.ts'

budgetsContract(dose('SLUICE_TEST_BUDGET_RUNS', { short: 4, long: 40 }))

it('knows what fronts told it however long it takes to read what was settled', async () => {
  const replies: LeaseReply[] = []
  const allowance = BUDGET
  let settle = (_: Map<string, Map<string, number>>): void => undefined
  const authority = new InProcessAuthority({
    clock: { now: () => 1_700_000_000_000, monotonicUs: () => 0 },
    holders: () => 2,
    closed: true,
    budgets: { read: () => new Promise((resolve) => (settle = resolve)) },
    reply: (_, reply) => replies.push(reply),
  })
  const holding = { allowance, kind: 'budget', limit: 60, held: 0, used: [[0, 50]] } as const
  authority.resume('a', { type: 'lease-resume', writer: 'front-a', leases: [holding] })
  const ask = (need: number) => ({ allowance, kind: 'budget', limit: 60, need, wanted: need, blocking: false }) as const
  const request = { type: 'lease-request', sequence: 1, charges: [], returns: [], reclaimed: [], cancels: [] } as const
  authority.exchange('a', { ...request, asks: [ask(11)] })
  authority.resume('b', { type: 'lease-resume', writer: 'front-b', leases: [] })
  settle(new Map([[allowance, new Map([['front-a', 10]])]]))
  await expect.poll(() => replies.flatMap(({ grants }) => grants)).toMatchObject([{ amount: 0, used: 50 }])
})
