import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { itLater } from '../../support/dose.ts'
import { eventually } from '../../support/eventually.ts'
import { startGateway } from '../../support/gateway.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'

const PASSWORD = 'correct horse battery'
const PAYMENT_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const PATIENCE = { timeoutMs: 40_000 }
const PAYMENT = { amount: 1_000, currency: 'USD', reference: 'payment 1' }

let simulator: Simulator
/** As installed: only the platform credits wallets. */
let gateway: TestGateway
/** Takes signed payments, top-ups of tenants and unpriced models, and counts in euros. */
let other: TestGateway
let admin: ManagementClient
let phones = 0

beforeAll(async () => {
  simulator = await startSimulator()
  const upstreams = [
    { id: 'up', dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['priced', 'unpriced'] },
  ] as const
  const models = [{ id: 'priced', prices: { input: 0, output: 1_000_000 } }]
  gateway = await startGateway({ upstreams, config: { models } })
  other = await startGateway({
    upstreams,
    config: {
      models,
      money: { currency: 'EUR' },
      wallet: { tenant_topup: true, allow_unpriced: true, payment_secret: PAYMENT_SECRET },
    },
  })
  admin = await ManagementClient.ofAdmin(gateway)
}, 120_000)

afterAll(async () => {
  await Promise.all([gateway.stop(), other.stop()])
  await simulator.close()
})

interface Tenant {
  readonly id: string
  readonly owner: ManagementClient
}

async function newTenant(of: ManagementClient, at: TestGateway, body: object = {}): Promise<Tenant> {
  const phone = `+12025554${String(phones++).padStart(3, '0')}`
  await of.expect('adminCreateUser', 201, { body: { phone, name: 'Ada', password: PASSWORD } })
  const { json } = await of.expect('adminCreateEnterprise', 201, {
    body: { name: 'Acme', owner_phone: phone, ...body },
  })
  const owner = new ManagementClient(at.url)
  await owner.login(phone, PASSWORD)
  return { id: String(json['id']), owner }
}

async function newKey({ id, owner }: Tenant): Promise<string> {
  return String((await owner.expect('createEnterpriseKey', 201, { params: { id }, body: { name: 'k' } })).json['key'])
}

async function chat(at: TestGateway, key: string, model: string): Promise<readonly [number, string | undefined]> {
  const response = await fetch(`${at.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, max_tokens: 5, messages: [{ role: 'user', content: 'hi [[sim {"tokens":5}]]' }] }),
  })
  const { error } = (await response.json()) as { error?: { code: string } }
  return [response.status, error?.code]
}

const errorOf = ({
  json,
}: {
  json: Record<string, unknown>
}): { code: string; message: string; param: string | null } =>
  json['error'] as { code: string; message: string; param: string | null }

it('lets only the platform credit a wallet, and tells a tenant who may', async () => {
  const { id, owner } = await newTenant(admin, gateway)
  const refused = await owner.expect('topUpWallet', 403, { params: { id }, body: PAYMENT })
  expect(errorOf(refused)).toMatchObject({ code: 'ROLE_DENIED' })
  expect(errorOf(refused).message).toContain('wallet.tenant_topup')
  const { json } = await owner.expect('getWallet', 200, { params: { id } })
  expect(json).toMatchObject({ credited: 0, tenant_topup: false })
  expect((await admin.expect('topUpWallet', 200, { params: { id }, body: PAYMENT })).json['credited']).toBe(1_000)
})

it('lets owners credit their wallet where wallet.tenant_topup is on', async () => {
  const { id, owner } = await newTenant(await ManagementClient.ofAdmin(other), other)
  const body = { ...PAYMENT, currency: 'EUR' }
  expect((await owner.expect('topUpWallet', 200, { params: { id }, body })).json).toMatchObject({
    credited: 1_000,
    tenant_topup: true,
  })
})

it('takes payments that are signed as Standard Webhooks are, each once', async () => {
  const { id, owner } = await newTenant(await ManagementClient.ofAdmin(other), other)
  const body = { enterprise_id: id, ...PAYMENT, currency: 'EUR', reference: 'invoice 7' }
  const signed = (at: Date, secret = PAYMENT_SECRET): Record<string, string> => ({
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign('msg_1', at, JSON.stringify(body)),
  })
  const pay = (headers: Record<string, string>, token: null = null) =>
    owner.call('receivePayment', { body, headers, token })
  expect((await pay(signed(new Date()))).json).toMatchObject({ credited: 1_000, currency: 'EUR' })
  // The payment service sends again what it saw no answer to.
  expect((await pay(signed(new Date()))).json).toMatchObject({ credited: 1_000 })
  const wrong = [
    {},
    signed(new Date(), `whsec_${Buffer.alloc(32, 8).toString('base64')}`),
    signed(new Date(Date.now() - 3_600_000)),
    { ...signed(new Date()), 'webhook-id': 'msg_2' },
  ]
  for (const headers of wrong) {
    const answer = await pay(headers)
    expect([answer.status, errorOf(answer).code]).toEqual([401, 'SIGNATURE_INVALID'])
  }
  const { json } = await owner.expect('listTransactions', 200, { params: { id } })
  expect(json['data']).toMatchObject([{ kind: 'topup', amount: 1_000, reference: 'invoice 7', actor: null }])
})

it('takes no payments without a secret', async () => {
  const { id } = await newTenant(admin, gateway)
  const answer = await admin.call('receivePayment', { body: { enterprise_id: id, ...PAYMENT }, token: null })
  expect([answer.status, errorOf(answer).code]).toEqual([404, 'ROUTE_NOT_FOUND'])
})

it('counts in one currency, and names it to whoever asks for another one', async () => {
  const refused = await admin.expect('adminCreateEnterprise', 400, { body: { name: 'Acme', currency: 'EUR' } })
  expect(errorOf(refused)).toMatchObject({ code: 'INVALID_FIELD', param: '/currency' })
  expect(errorOf(refused).message).toContain('USD')
  const { id, owner } = await newTenant(await ManagementClient.ofAdmin(other), other)
  expect((await owner.expect('getEnterprise', 200, { params: { id } })).json['currency']).toBe('EUR')
})

itLater('holds the platform’s budget beside that of the tenant, who cannot raise it', async () => {
  const tenant = await newTenant(admin, gateway, { monthly_budget: 1_000_000, platform_monthly_budget: 7 })
  const { id, owner } = tenant
  const key = await newKey(tenant)
  expect(await chat(gateway, key, 'priced')).toEqual([200, undefined])
  expect(await chat(gateway, key, 'priced')).toEqual([429, 'BUDGET_EXHAUSTED'])
  // The field is the platform's: an enterprise that sends it changes nothing.
  await owner.call('updateEnterprise', { params: { id }, body: { platform_monthly_budget: 1_000_000 } })
  expect((await owner.expect('getEnterprise', 200, { params: { id } })).json['platform_monthly_budget']).toBe(7)
  await admin.expect('adminUpdateEnterprise', 200, { params: { id }, body: { platform_monthly_budget: 1_000_000 } })
  await owner.expect('updateEnterprise', 200, { params: { id }, body: { monthly_budget: 8 } })
  await eventually(async () => {
    const { json } = await owner.expect('getEnterprise', 200, { params: { id } })
    expect(json).toMatchObject({ monthly_budget: 8, platform_monthly_budget: 1_000_000 })
    expect(await chat(gateway, key, 'priced')).toEqual([429, 'BUDGET_EXHAUSTED'])
  })
})

it('tells the movements of a month with the balance after each, and usage by the day', async () => {
  const tenant = await newTenant(admin, gateway, { time_zone: 'Asia/Kolkata' })
  const { id, owner } = tenant
  const credit = (amount: number, reference: string) =>
    admin.expect('topUpWallet', 200, { params: { id }, body: { ...PAYMENT, amount, reference } })
  await credit(1_000, 'invoice 1')
  const key = await newKey(tenant)
  expect(await chat(gateway, key, 'priced')).toEqual([200, undefined])
  await eventually(async () => {
    expect((await owner.expect('getWallet', 200, { params: { id } })).json['charged']).toBe(5)
  }, PATIENCE)
  await admin.expect('adminAdjustWallet', 200, {
    params: { id },
    body: { kind: 'refund', amount: -95, reference: 'too much' },
  })
  const { json } = await owner.expect('walletStatement', 200, { params: { id } })
  expect(json).toMatchObject({
    time_zone: 'Asia/Kolkata',
    currency: 'USD',
    opening: 0,
    closing: 900,
    credited: 1_000,
    charged: -5,
    refunded: -95,
    omitted: 0,
    lines: [
      { kind: 'refund', amount: -95, balance: 900, reference: 'too much', day: null },
      { kind: 'usage', amount: -5, balance: 995, id: null },
      { kind: 'topup', amount: 1_000, balance: 1_000, reference: 'invoice 1' },
    ],
  })
  // Midnight in Kolkata.
  expect((json['lines'] as Array<{ day: string }>)[1]?.day).toMatch(/T18:30:00.000Z$/)
  const past = await owner.expect('walletStatement', 200, { params: { id }, query: { month: '2020-02' } })
  expect(past.json).toMatchObject({
    from: '2020-01-31T18:30:00.000Z',
    to: '2020-02-29T18:30:00.000Z',
    opening: 0,
    closing: 0,
    lines: [],
  })
})

it('keeps every sum a number that JSON tells exactly', async () => {
  const { id } = await newTenant(admin, gateway)
  const credit = (n: number) =>
    admin.call('topUpWallet', {
      params: { id },
      body: { amount: 1_000_000_000_000_000, currency: 'USD', reference: `n${n}` },
    })
  for (let n = 1; n <= 9; n++) expect((await credit(n)).status).toBe(200)
  const refused = await credit(10)
  expect([refused.status, errorOf(refused).param]).toEqual([409, '/amount'])
  const { json } = await admin.expect('getWallet', 200, { params: { id } })
  expect(json['credited']).toBe(9_000_000_000_000_000)
})

it('refuses a model without a price to an enterprise that pays in advance, unless it is allowed', async () => {
  const prepaid = await newTenant(admin, gateway, { is_prepaid: true })
  await admin.expect('topUpWallet', 200, { params: { id: prepaid.id }, body: PAYMENT })
  const key = await newKey(prepaid)
  expect(await chat(gateway, key, 'priced')).toEqual([200, undefined])
  expect(await chat(gateway, key, 'unpriced')).toEqual([403, 'MODEL_UNPRICED'])
  const postpaid = await newKey(await newTenant(admin, gateway))
  expect(await chat(gateway, postpaid, 'unpriced')).toEqual([200, undefined])

  const platform = await ManagementClient.ofAdmin(other)
  const allowed = await newTenant(platform, other, { is_prepaid: true })
  await platform.expect('topUpWallet', 200, { params: { id: allowed.id }, body: { ...PAYMENT, currency: 'EUR' } })
  expect(await chat(other, await newKey(allowed), 'unpriced')).toEqual([200, undefined])
})

it('warns of a price that is practically free', async () => {
  const { json } = await admin.expect('adminUpdateModel', 200, {
    params: { id: 'unpriced' },
    body: { prices: { input: 10, output: 2_500_000 } },
  })
  expect(json['warnings']).toEqual([expect.stringMatching(/^prices[.]input is 10 .*0[.]000010.*practically free/)])
  await admin.expect('adminDeleteModel', 204, { params: { id: 'unpriced' } })
})
