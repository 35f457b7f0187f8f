import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { AuthenticationError, RateLimitError, SluiceClient } from '../../src/client/index.ts'
import type { ItemOf, ListOperation } from '../../src/client/index.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { eventually } from '../support/eventually.ts'
import type { TestGateway } from '../support/gateway.ts'
import { startGateway } from '../support/gateway.ts'

/** One micro-unit for each token of an answer. */
const TOKENS = 20
const AFFORDABLE = 7
const BUDGET = TOKENS * AFFORDABLE
const TOP_UP = 1_000_000
const PASSWORD = 'correct horse battery'
const CALLERS = 4
/** Refusals in a row after which a key that was turned off serves nobody. */
const REFUSALS = 400

let simulator: Simulator
let gateway: TestGateway

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({
    fronts: 2,
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
    config: {
      models: [{ id: 'm', prices: { input: 0, output: 1_000_000 } }],
      // So many refusals from one address would be taken for an attack.
      limits: { address_failures_per_minute: 1_000_000 },
    },
  })
}, 180_000)

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

const clientFor = (options: { token?: string; apiKey?: string } = {}): SluiceClient =>
  new SluiceClient({ baseUrl: gateway.url, maxRetries: 0, ...options })

async function all<Name extends ListOperation>(items: AsyncIterable<ItemOf<Name>>): Promise<Array<ItemOf<Name>>> {
  const list: Array<ItemOf<Name>> = []
  for await (const item of items) list.push(item)
  return list
}

it('an enterprise from its first day to the key that is turned off', { timeout: 300_000 }, async () => {
  // The admin of the platform makes the enterprise of its owner.
  const admin = clientFor()
  const { admin: account } = JSON.parse(readFileSync(join(gateway.dataDir, 'first-run.json'), 'utf8')) as {
    admin: { phone: string; password: string }
  }
  await admin.login(account)
  const ownerAccount = { phone: '+12025550141', password: PASSWORD }
  await admin.management.platform.adminCreateUser({ body: { ...ownerAccount, name: 'Olga' } })
  const { id } = await admin.management.platform.adminCreateEnterprise({
    body: { name: 'Acme', owner_phone: ownerAccount.phone, currency: 'USD', is_prepaid: true },
  })
  const payment = { amount: TOP_UP, currency: 'USD', reference: 'invoice 1' }
  await admin.management.wallet.topUpWallet({ params: { id }, body: payment })
  const wallet = await admin.management.wallet.topUpWallet({ params: { id }, body: payment })
  expect(wallet).toMatchObject({ balance: TOP_UP, credited: TOP_UP, charged: 0 })

  // The owner invites an employee, who registers with the invitation.
  const owner = clientFor()
  const session = await owner.login(ownerAccount)
  expect(session.user.enterprises).toEqual([{ id, name: 'Acme', role: 'owner' }])
  const department = await owner.management.departments.createDepartment({
    params: { id },
    body: { name: 'Research', monthly_budget: BUDGET },
  })
  const invitation = await owner.management.members.invite({
    params: { id },
    body: { email: 'emma@example.com', role: 'employee', department_id: department.id },
  })
  const registered = await clientFor().management.session.register({
    body: { phone: '+12025550142', password: PASSWORD, name: 'Emma', invitation_token: invitation.token },
  })
  const employee = clientFor({ token: registered.token })
  expect((await employee.management.session.me()).enterprises).toEqual([{ id, name: 'Acme', role: 'employee' }])
  await expect(employee.management.wallet.getWallet({ params: { id } })).rejects.toMatchObject({ code: 'ROLE_DENIED' })
  const members = await all<'listMembers'>(owner.list('listMembers', { params: { id }, query: { limit: 1 } }))
  const member = members.find(({ user }) => user.name === 'Emma')
  expect(member).toMatchObject({ role: 'employee', department_id: department.id })

  // A key of the department, for the employee; it is under the budget of the department.
  const made = await owner.management.enterpriseKeys.createEnterpriseKey({
    params: { id },
    body: {
      name: 'lab',
      department_id: department.id,
      member_id: member?.id ?? null,
      rpm: 1_000_000_000,
      tpm: 1_000_000_000,
    },
  })
  const caller = clientFor({ apiKey: made.key })
  const ask = {
    model: 'm',
    max_tokens: TOKENS,
    messages: [{ role: 'user' as const, content: `hi [[sim {"tokens":${TOKENS}}]]` }],
  }
  await eventually(async () => {
    expect((await caller.models.list()).data.map((model) => model.id)).toEqual(['m'])
  })

  // Whole answers and streams, until the budget is gone.
  for (let served = 0; served < AFFORDABLE; served++) {
    if (served % 2 === 0) {
      expect((await caller.chat.create(ask)).usage?.completion_tokens).toBe(TOKENS)
    } else {
      let text = ''
      for await (const chunk of await caller.chat.stream(ask)) text += chunk.choices[0]?.delta.content ?? ''
      expect(text).not.toBe('')
    }
  }
  const refusal: unknown = await caller.chat.create(ask).catch((cause: unknown) => cause)
  expect(refusal).toBeInstanceOf(RateLimitError)
  expect(refusal).toMatchObject({ statusCode: 429, type: 'quota_exhausted', code: 'BUDGET_EXHAUSTED' })
  expect((refusal as RateLimitError).message).toContain('department')
  expect((refusal as RateLimitError).retryAfterMs).toBeGreaterThan(0)

  // Log, statistics, wallet and ledger tell of the same money.
  await eventually(
    async () => {
      const rows = await all<'enterpriseLogs'>(owner.list('enterpriseLogs', { params: { id }, query: { limit: 5 } }))
      const { totals } = await owner.management.statistics.enterpriseUsage({ params: { id }, query: { period: '24h' } })
      const after = await owner.management.wallet.getWallet({ params: { id } })
      const transactions = await all<'listTransactions'>(owner.list('listTransactions', { params: { id } }))
      const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0)
      expect(rows.filter(({ status, cost }) => status === 200 && cost > 0)).toHaveLength(AFFORDABLE)
      expect(rows.filter(({ error_code: code }) => code === 'BUDGET_EXHAUSTED')).toHaveLength(1)
      expect(new Set(rows.map((row) => `${row.department_id} ${row.member_id} ${row.key_id}`))).toEqual(
        new Set([`${department.id} ${member?.id ?? ''} ${made.id}`]),
      )
      expect(sum(rows.map(({ cost }) => cost))).toBe(BUDGET)
      expect(totals).toMatchObject({ cost: BUDGET, requests: rows.length, completion_tokens: BUDGET })
      expect(after).toMatchObject({ charged: BUDGET, balance: TOP_UP - BUDGET })
      expect(sum(transactions.map(({ amount }) => amount))).toBe(TOP_UP - BUDGET)
      expect(transactions.map(({ kind }) => kind).sort()).toEqual([
        'topup',
        ...transactions.slice(1).map(() => 'usage'),
      ])
    },
    { timeoutMs: 60_000 },
  )

  // With a larger budget it goes on, until the key is turned off.
  await owner.management.departments.updateDepartment({
    params: { id, departmentId: department.id },
    body: { monthly_budget: TOP_UP },
  })
  await eventually(async () => {
    await caller.chat.create(ask)
  })
  await expectOff(caller, ask, async () => {
    const params = { id, keyId: made.id }
    const off = await owner.management.enterpriseKeys.toggleEnterpriseKey({ params, body: { enabled: false } })
    expect(off.enabled).toBe(false)
  })
})

/** Has several callers ask without end, turns the key off meanwhile, and waits until all that they hear is that it is off. */
async function expectOff(
  caller: SluiceClient,
  ask: Parameters<SluiceClient['chat']['create']>[0],
  turnOff: () => Promise<void>,
): Promise<void> {
  let served = 0
  let refusedInARow = 0
  const over = new AbortController()
  const asking = Array.from({ length: CALLERS }, async () => {
    while (!over.signal.aborted) {
      try {
        await caller.chat.create(ask)
        served += 1
        refusedInARow = 0
      } catch (cause) {
        expect(cause).toBeInstanceOf(AuthenticationError)
        expect(cause).toMatchObject({ code: 'KEY_DISABLED' })
        refusedInARow += 1
      }
    }
  })
  const refused = Promise.race([
    // One who hears something else ends this at once.
    Promise.all(asking),
    (async (): Promise<void> => {
      await eventually(() => {
        expect(served).toBeGreaterThan(CALLERS)
      })
      await turnOff()
      await eventually(
        () => {
          expect(refusedInARow).toBeGreaterThanOrEqual(REFUSALS)
        },
        { timeoutMs: 120_000 },
      )
    })(),
  ])
  try {
    await refused
  } finally {
    over.abort()
    await Promise.allSettled(asking)
  }
}
