import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { AuthenticationError, RateLimitError, SluiceClient } from '../../src/client/index.ts'
import type { ItemOf, ListOperation } from '../../src/client/index.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { eventually } from '../support/eventually.ts'
import type { GatewayOptions, TestGateway } from '../support/gateway.ts'
import { startGateway } from '../support/gateway.ts'
import { OpenIdBrowser } from '../support/openid-browser.ts'
import { OpenIdProvider } from '../support/openid-provider.ts'
import { WebhookReceiver } from '../support/webhook-receiver.ts'

/** One micro-unit for each token of an answer. */
const TOKENS = 20
const AFFORDABLE = 7
const BUDGET = TOKENS * AFFORDABLE
const TOP_UP = 1_000_000
/** Percent of the budget of the department at which the alert is sent. */
const ALERT_AT = 80
/** The address at which browsers see the gateway after its restart. */
const BASE = 'https://ai.example.com'
const PASSWORD = 'correct horse battery'
const CALLERS = 4
/** Refusals in a row after which a key that was turned off serves nobody. */
const REFUSALS = 400

let simulator: Simulator
let gateway: TestGateway
let options: GatewayOptions
let receiver: WebhookReceiver
let provider: OpenIdProvider

beforeAll(async () => {
  receiver = await WebhookReceiver.start()
  simulator = await startSimulator()
  provider = await OpenIdProvider.start(`${BASE}/api/auth/oidc/callback`)
  options = {
    dataDir: mkdtempSync(join(tmpdir(), 'sluice-story-')),
    fronts: 2,
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
    config: {
      models: [{ id: 'm', prices: { input: 0, output: 1_000_000 } }],
      alerts: { check_interval_ms: 200, private_webhooks: ['127.0.0.1'] },
      // So many refusals from one address would be taken for an attack.
      limits: { address_failures_per_minute: 1_000_000 },
    },
  }
  gateway = await startGateway(options)
}, 180_000)

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
  await receiver.close()
  await provider.stop()
  rmSync(gateway.dataDir, { recursive: true, force: true })
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
  // It cannot make its own money.
  await expect(owner.management.wallet.topUpWallet({ params: { id }, body: payment })).rejects.toMatchObject({
    statusCode: 403,
    code: 'ROLE_DENIED',
  })
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

  // The owner is told when most of the budget is used.
  const { channels } = await owner.management.alerts.createAlert({
    params: { id },
    body: { kind: 'budget', owners: ['department'], threshold: ALERT_AT, channels: [{ webhook: receiver.url() }] },
  })

  // The spend of the key, the member, the department, the enterprise and the wallet agrees with log, ledger and statistics.
  const memberId = member?.id ?? ''
  const booksAgree = async (requests: number): Promise<void> => {
    const spent = requests * TOKENS
    await eventually(
      async () => {
        const { management } = owner
        const shown = [
          await management.enterpriseKeys.getEnterpriseKey({ params: { id, keyId: made.id } }),
          await management.members.getMember({ params: { id, memberId } }),
          await management.departments.getDepartment({ params: { id, departmentId: department.id } }),
          await management.enterprises.getEnterprise({ params: { id } }),
          await management.wallet.getWallet({ params: { id } }),
        ].map(({ spend }) => spend)
        for (const spend of shown) {
          expect(spend?.spent).toBe(spent)
          if (spend?.limit !== null) expect(spend?.remaining).toBe((spend?.limit ?? 0) - spent - (spend?.held ?? 0))
        }
        const rows = await all<'enterpriseLogs'>(owner.list('enterpriseLogs', { params: { id }, query: { limit: 5 } }))
        const { totals } = await management.statistics.enterpriseUsage({ params: { id }, query: { period: '24h' } })
        const after = await management.wallet.getWallet({ params: { id } })
        const transactions = await all<'listTransactions'>(owner.list('listTransactions', { params: { id } }))
        expect(rows.filter(({ status, cost }) => status === 200 && cost > 0)).toHaveLength(requests)
        expect(new Set(rows.map((row) => `${row.department_id} ${row.member_id} ${row.key_id}`))).toEqual(
          new Set([`${department.id} ${memberId} ${made.id}`]),
        )
        expect(sum(rows.map(({ cost }) => cost))).toBe(spent)
        expect(totals).toMatchObject({ cost: spent, requests: rows.length, completion_tokens: spent })
        expect(after).toMatchObject({ charged: spent, balance: TOP_UP - spent })
        expect(sum(transactions.map(({ amount }) => amount))).toBe(TOP_UP - spent)
        expect(transactions.map(({ kind }) => kind).sort()).toEqual([
          'topup',
          ...transactions.slice(1).map(() => 'usage'),
        ])
      },
      { timeoutMs: 60_000 },
    )
  }

  // Whole answers and streams, until the budget is gone.
  for (let served = 0; served < AFFORDABLE; served++) {
    if (served % 2 === 0) {
      expect((await caller.chat.create(ask)).usage?.completion_tokens).toBe(TOKENS)
    } else {
      let text = ''
      for await (const chunk of await caller.chat.stream(ask)) text += chunk.choices[0]?.delta.content ?? ''
      expect(text).not.toBe('')
    }
    await booksAgree(served + 1)
  }
  const refusal: unknown = await caller.chat.create(ask).catch((cause: unknown) => cause)
  expect(refusal).toBeInstanceOf(RateLimitError)
  expect(refusal).toMatchObject({ statusCode: 429, type: 'quota_exhausted', code: 'BUDGET_EXHAUSTED' })
  expect((refusal as RateLimitError).message).toContain('department')
  expect((refusal as RateLimitError).retryAfterMs).toBeGreaterThan(0)

  await booksAgree(AFFORDABLE)
  const query = { error_type: 'quota_exhausted' }
  await eventually(async () => {
    expect(await all<'enterpriseLogs'>(owner.list('enterpriseLogs', { params: { id }, query }))).toHaveLength(1)
  })

  // One signed message has arrived.
  await eventually(() => {
    expect(receiver.received).toHaveLength(1)
  })
  const [message] = receiver.received
  const verified = new Webhook(channels[0]?.secret ?? '').verify(message?.body ?? '', message?.headers ?? {})
  expect(verified).toMatchObject({
    type: 'alert.budget',
    data: { enterprise_id: id, subject: { type: 'department', id: department.id }, threshold: ALERT_AT },
  })

  // With a larger budget it goes on, until the key is turned off.
  await owner.management.departments.updateDepartment({
    params: { id, departmentId: department.id },
    body: { monthly_budget: TOP_UP },
  })
  await eventually(async () => {
    await caller.chat.create(ask)
  })

  // Bodies are captured for a while. The owner finds one and looks at it, which is recorded, as is who may not look, and erases it.
  const capture = { requests: true, answers: true }
  await owner.management.enterpriseKeys.updateEnterpriseKey({ params: { id, keyId: made.id }, body: { capture } })
  const secret = 'sk-proj-1234567890abcdefghijklmnop'
  const told = [{ role: 'user' as const, content: `a word like marzipan, and ${secret} [[sim {"tokens":${TOKENS}}]]` }]
  const captured = await eventually(
    async () => {
      await caller.chat.create({ ...ask, messages: told })
      const rows = await all<'enterpriseLogs'>(owner.list('enterpriseLogs', { params: { id } }))
      const row = rows.find((one) => one.captured)
      expect(row).toBeDefined()
      return row?.id ?? ''
    },
    { timeoutMs: 120_000 },
  )
  const look = { params: { id, logId: captured }, query: { bodies: true } }
  const { bodies } = await owner.management.requestLog.getEnterpriseLog(look)
  expect(bodies?.request?.text).toContain('marzipan')
  expect(bodies?.request?.text).not.toContain(secret)
  expect(bodies?.answer?.text).toContain('"usage"')
  await expect(employee.management.requestLog.getEnterpriseLog(look)).rejects.toMatchObject({ statusCode: 403 })
  const looks = await all<'adminAudit'>(admin.list('adminAudit', { query: { operation: 'getEnterpriseLog' } }))
  expect(looks).toMatchObject([
    { outcome: 'refused', error_code: 'ROLE_DENIED', enterprise_id: id, target_id: captured },
    { outcome: 'done', enterprise_id: id, target_id: captured, sent: { bodies: true } },
  ])
  await owner.management.requestLog.eraseEnterpriseBodies({ params: { id, logId: captured } })
  expect(await owner.management.requestLog.getEnterpriseLog(look)).toMatchObject({ captured: false, bodies: null })
  await owner.management.enterpriseKeys.updateEnterpriseKey({ params: { id, keyId: made.id }, body: { capture: null } })

  await expectOff(caller, ask, async () => {
    const params = { id, keyId: made.id }
    const off = await owner.management.enterpriseKeys.toggleEnterpriseKey({ params, body: { enabled: false } })
    expect(off.enabled).toBe(false)
  })
  expect(receiver.received).toHaveLength(1)

  // From the next start on, the enterprise has an OpenID provider. Whoever has its claim is in finance.
  const { port } = gateway
  await gateway.stop()
  const claims = [{ claim: 'groups', value: 'acme-money', enterprise: id, enterprise_role: 'finance' }]
  gateway = await startGateway({
    ...options,
    env: { PORT: String(port) },
    config: { ...options.config, server: { base_url: BASE }, auth: { oidc: { ...provider.config, claims } } },
    ...(gateway.databaseUrl === null ? {} : { database: { url: gateway.databaseUrl } }),
  })
  provider.person = { subject: 'fred', claims: { name: 'Fred', groups: ['acme-money'] } }
  const browser = new OpenIdBrowser(provider, `http://127.0.0.1:${port}`, BASE)
  const fred = await browser.signIn()
  expect(fred).toMatchObject({ name: 'Fred', role: 'user', enterprises: [{ id, name: 'Acme', role: 'finance' }] })
  const { json: seen } = await browser.client.expect('getWallet', 200, { params: { id } })
  expect(seen['charged']).toBe((await owner.management.wallet.getWallet({ params: { id } })).charged)
  await browser.client.expect('invite', 403, { params: { id }, body: { email: 'x@example.com', role: 'employee' } })
})

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0)

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
