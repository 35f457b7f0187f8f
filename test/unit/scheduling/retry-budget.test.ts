import { expect, it } from 'vitest'
import { RetryBudget } from '../../../src/front/scheduling/retry-budget.ts'

it('allows three retries at a time, or a fifth of the requests under way where that is more', () => {
  const budget = new RetryBudget({ least: 3, share: 0.2 })
  const take = (): number => {
    let taken = 0
    while (budget.take()) taken += 1
    for (let given = 0; given < taken; given++) budget.giveBack()
    return taken
  }
  expect(take()).toBe(3)
  for (let request = 0; request < 100; request++) budget.begin()
  expect(take()).toBe(20)
  for (let request = 0; request < 90; request++) budget.end()
  expect(take()).toBe(3)
})
