import { expect, it } from 'vitest'
import type { BudgetLimit } from '../../../src/shared/core/budget.ts'
import { GatewayError } from '../../../src/shared/core/errors.ts'
import type { Principal } from '../../../src/shared/core/principal.ts'
import { Admissions } from '../../../src/front/limits/admissions.ts'
import { entryKey } from '../../support/entry-key.ts'
import { LeaseWorld } from '../../support/lease-world.ts'
import { SeededRandom } from '../../support/seeded-random.ts'

const AMPLE = 1_000_000_000
const SECOND_BEFORE_DECEMBER = Date.parse('2026-11-30T22:59:59Z')

function principal(budgets: readonly BudgetLimit[], { id = 'k', generation = 0 } = {}): Principal {
  return {
    generation,
    key: entryKey({ id, enterpriseId: 'acme', budgets, timeZone: 'Europe/Berlin' }),
    limits: { requestsPerMinute: AMPLE, tokensPerMinute: AMPLE, concurrency: AMPLE },
    userLimits: null,
    enterpriseLimits: null,
    models: null,
    capture: null,
  }
}

function world(startMs = Date.parse('2026-11-15T00:00:00Z')): LeaseWorld {
  const random = new SeededRandom(1)
  return new LeaseWorld({ fronts: 1, random: () => random.next(), startMs })
}

/** What becomes of a request; let in, it is under way until it is settled. */
async function outcomeOf(leases: LeaseWorld, admissions: Admissions, caller: Principal, need: [number, number]) {
  const asked = (async () => {
    const admission = await admissions.admit(caller, leases.nowMs)
    try {
      await admission.reserve(need[0], leases.nowMs, need[1])
      return admission
    } catch (cause) {
      admission.settle(0, leases.nowMs, 0)
      return GatewayError.from(cause)
    }
  })()
  await leases.run(1_000)
  return asked
}

function admissionsOf(leases: LeaseWorld): Admissions {
  const [front] = leases.fronts
  if (front === undefined) throw new Error('no front')
  return new Admissions(front.book)
}

it.each([
  [{ owner: 'key', measure: 'money' }, '100 micro-units a month of this API key', 'cost 101 micro-units'],
  [{ owner: 'key', measure: 'tokens' }, '100 tokens a month of this API key', 'need 500 tokens'],
  [{ owner: 'member', measure: 'money' }, 'of this member of the enterprise', 'cost 101'],
  [{ owner: 'department', measure: 'money' }, 'of this department', 'cost 101'],
  [{ owner: 'enterprise', measure: 'money' }, 'of this enterprise', 'cost 101'],
] as const)('names whose budget refuses, what it lacks and when there is a new one: %j', async (which, whose, need) => {
  const leases = world()
  const caller = principal([{ ...which, id: 'x', limit: 100 }])
  const refusal = await outcomeOf(leases, admissionsOf(leases), caller, [500, 101])

  expect(refusal).toMatchObject({ code: 'BUDGET_EXHAUSTED', status: 429, type: 'quota_exhausted' })
  if (!(refusal instanceof GatewayError)) throw new Error('let in')
  expect(refusal.message).toContain(whose)
  expect(refusal.message).toContain(need)
  expect(refusal.message).toContain('2026-11-30T23:00:00.000Z')
  const secondsLeft = (Date.parse('2026-11-30T23:00:00Z') - leases.nowMs) / 1000
  expect(refusal.retryAfterSeconds).toBeGreaterThan(secondsLeft)
  expect(refusal.retryAfterSeconds).toBeLessThan(secondsLeft + 2)
})

it('holds nothing of the budgets that would do when another one refuses', async () => {
  const leases = world()
  const admissions = admissionsOf(leases)
  const tight = principal([
    { owner: 'enterprise', id: 'acme', measure: 'money', limit: 100 },
    { owner: 'key', id: 'k', measure: 'money', limit: 50 },
  ])
  const other = principal([{ owner: 'enterprise', id: 'acme', measure: 'money', limit: 100 }])

  expect(await outcomeOf(leases, admissions, tight, [1, 60])).toMatchObject({ code: 'BUDGET_EXHAUSTED' })
  expect(await outcomeOf(leases, admissions, other, [1, 100])).not.toBeInstanceOf(GatewayError)
})

it('gives back at once what it holds of the budgets that would do when another one refuses', async () => {
  const leases = world()
  const admissions = admissionsOf(leases)
  const enterprise = { owner: 'enterprise', id: 'acme', measure: 'money', limit: 100 } as const
  const tight = principal([enterprise, { owner: 'key', id: 'k', measure: 'money', limit: 50 }])
  const first = await outcomeOf(leases, admissions, tight, [1, 50])
  if (first instanceof GatewayError) throw first
  first.settle(1, leases.nowMs, 0)
  await leases.run(1_000)

  const nextIsReserved = (async () => {
    const refused = await admissions.admit(tight, leases.nowMs)
    await expect((async () => refused.reserve(1, leases.nowMs, 51))()).rejects.toThrow(GatewayError)
    const next = await admissions.admit(principal([enterprise]), leases.nowMs)
    await next.reserve(1, leases.nowMs, 51)
  })()
  await leases.run(1_000)
  await nextIsReserved
})

it('counts what a request did cost in place of what it might have', async () => {
  const leases = world()
  const admissions = admissionsOf(leases)
  const caller = principal([{ owner: 'wallet', id: 'acme', measure: 'money', limit: 100 }])
  const first = await outcomeOf(leases, admissions, caller, [1, 100])
  expect(await outcomeOf(leases, admissions, caller, [1, 71])).toMatchObject({ code: 'BUDGET_EXHAUSTED' })
  if (first instanceof GatewayError) throw first
  first.settle(1, leases.nowMs, 30)
  await leases.run(1_000)

  expect(await outcomeOf(leases, admissions, caller, [1, 71])).toMatchObject({ code: 'BUDGET_EXHAUSTED' })
  expect(await outcomeOf(leases, admissions, caller, [1, 70])).not.toBeInstanceOf(GatewayError)
})

it.each([
  ['whose key has had another one since', true],
  ['whose key has had none for minutes', false],
])('has the limit of today after the answer to a request from before the change, %s', async (_, hasOther) => {
  const leases = world()
  const admissions = admissionsOf(leases)
  const wallet = (limit: number) => [{ owner: 'wallet', id: 'acme', measure: 'money', limit }] as const
  const before = principal(wallet(100), { id: 'slow', generation: 1 })
  const now = principal(wallet(1_000), { id: 'other', generation: 2 })
  const sinceThen = principal(wallet(1_000), { id: 'slow', generation: 2 })
  if (hasOther) expect(await outcomeOf(leases, admissions, sinceThen, [1, 10])).not.toBeInstanceOf(GatewayError)

  expect(await outcomeOf(leases, admissions, now, [1, 200])).not.toBeInstanceOf(GatewayError)
  admissions.state(before, leases.nowMs)
  expect(await outcomeOf(leases, admissions, now, [1, 700])).not.toBeInstanceOf(GatewayError)
  expect(await outcomeOf(leases, admissions, before, [1, 50])).not.toBeInstanceOf(GatewayError)
})

it('has the limits of today for a request that began before the change of its key', async () => {
  const leases = world()
  const admissions = admissionsOf(leases)
  const budget = (limit: number) => [{ owner: 'key', id: 'k', measure: 'money', limit }] as const
  const before = principal(budget(1_000), { generation: 1 })
  const now = principal(budget(100), { generation: 2 })

  expect(await outcomeOf(leases, admissions, now, [1, 50])).not.toBeInstanceOf(GatewayError)
  expect(await outcomeOf(leases, admissions, before, [1, 51])).toMatchObject({ code: 'BUDGET_EXHAUSTED' })
})

it('begins a new budget with the month of the enterprise, and a wallet never', async () => {
  const leases = world(SECOND_BEFORE_DECEMBER)
  const admissions = admissionsOf(leases)
  const key = { owner: 'key', id: 'k', measure: 'money', limit: 10 } as const
  const wallet = { owner: 'wallet', id: 'acme', measure: 'money', limit: 15 } as const
  const spend = async (budget: BudgetLimit) => {
    const admission = await outcomeOf(leases, admissions, principal([budget]), [1, 10])
    if (!(admission instanceof GatewayError)) admission.settle(1, leases.nowMs, 10)
    return admission instanceof GatewayError ? admission.code : 'admitted'
  }
  const caller = principal([key, wallet])
  const first = await outcomeOf(leases, admissions, caller, [1, 10])
  if (first instanceof GatewayError) throw first
  first.settle(1, leases.nowMs, 10)
  await leases.run(1_000)

  expect(await spend(key)).toBe('admitted')
  expect(await spend(key)).toBe('BUDGET_EXHAUSTED')
  expect(await spend(wallet)).toBe('BUDGET_EXHAUSTED')
})

it('waits for a control process that is away, and says so when it stays away', async () => {
  const leases = world()
  const admissions = admissionsOf(leases)
  const caller = principal([{ owner: 'key', id: 'k', measure: 'money', limit: 100 }])
  await leases.run(1_000)
  leases.restartAuthority(5_000)
  const waited = outcomeOf(leases, admissions, caller, [1, 10])
  await leases.run(9_000)
  expect(await waited).not.toBeInstanceOf(GatewayError)

  leases.restartAuthority(60_000)
  const refused = outcomeOf(leases, admissions, caller, [1, 90])
  await leases.run(35_000)
  expect(await refused).toMatchObject({ code: 'BUDGET_UNKNOWN', status: 503, retryAfterSeconds: 1 })
})
