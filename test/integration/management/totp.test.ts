import { afterAll, beforeAll, expect, it } from 'vitest'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'
import type { ManagementAnswer } from '../../support/management-client.ts'
import { codeOf } from '../../support/one-time-passwords.ts'

const PASSWORD = 'correct horse battery'
let gateway: TestGateway
let admin: ManagementClient

beforeAll(async () => {
  gateway = await startGateway({ config: { server: { trusted_proxies: ['127.0.0.1'] } } })
  admin = await ManagementClient.ofAdmin(gateway)
})

afterAll(async () => {
  await gateway.stop()
})

let last = 0
interface TestUser {
  readonly client: ManagementClient
  readonly id: string
  readonly phone: string
}

async function newUser(): Promise<TestUser> {
  last += 1
  const phone = `+1202555${String(7000 + last)}`
  const { json } = await admin.expect('adminCreateUser', 201, { body: { phone, name: 'Ada', password: PASSWORD } })
  const client = new ManagementClient(gateway.url)
  await client.login(phone, PASSWORD)
  return { client, id: String(json['id']), phone }
}

/**
 * A user with one-time passwords, who has used the code of the present step: the one after it is taken next, also when a step ends
 * meanwhile.
 */
async function enrolled(): Promise<TestUser & { readonly secret: string; readonly recovery: string[]; used: string }> {
  const user = await newUser()
  const begun = await user.client.expect('enrolTotp', 200, { body: { password: PASSWORD } })
  const secret = String(begun.json['secret'])
  const used = codeOf(secret)
  const confirmed = await user.client.expect('confirmTotp', 200, { body: { code: used } })
  return { ...user, secret, recovery: confirmed.json['recovery_codes'] as string[], used }
}

let lastAddress = 0
/** Each log-in comes from an address of its own: failures count by address. */
function login(phone: string, code?: string, password = PASSWORD): Promise<ManagementAnswer> {
  lastAddress += 1
  return admin.call('login', {
    body: { phone, password, ...(code === undefined ? {} : { code }) },
    token: null,
    headers: { 'x-forwarded-for': `198.51.100.${lastAddress}` },
  })
}

const outcome = ({ status, json }: ManagementAnswer): unknown =>
  status < 400 ? status : [status, (json['error'] as Record<string, unknown>)['code']]

it('asks for a code at the log-in once it is on, and takes each code once', async () => {
  const { phone, secret, client, used } = await enrolled()
  expect((await client.expect('me', 200)).json).toMatchObject({ totp: true })
  const asked = await login(phone)
  expect([outcome(asked), asked.json['error']]).toMatchObject([[401, 'CODE_REQUIRED'], { param: '/code' }])
  expect(outcome(await login(phone, '000000', 'wrong password'))).toEqual([401, 'LOGIN_FAILED'])
  expect(outcome(await login(phone, undefined, 'wrong password'))).toEqual([401, 'LOGIN_FAILED'])
  // That of the confirmation is used up.
  expect(outcome(await login(phone, used))).toEqual([401, 'CODE_INVALID'])
  expect(outcome(await login(phone, codeOf(secret, -10)))).toEqual([401, 'CODE_INVALID'])
  const code = codeOf(secret, 1)
  expect(outcome(await login(phone, code))).toBe(200)
  expect(outcome(await login(phone, code))).toEqual([401, 'CODE_INVALID'])
})

it('is off until it is confirmed, and begins again with another secret', async () => {
  const { client, phone } = await newUser()
  const begun = await client.expect('enrolTotp', 200, { body: { password: PASSWORD } })
  expect(begun.json['uri']).toMatch(/^otpauth:\/\/totp\/Sluice:.*secret=[A-Z2-7]{32}/)
  expect(outcome(await login(phone))).toBe(200)
  expect(outcome(await client.call('confirmTotp', { body: { code: '000000' } }))).toEqual([401, 'CODE_INVALID'])
  const again = await client.expect('enrolTotp', 200, { body: { password: PASSWORD } })
  expect(again.json['secret']).not.toBe(begun.json['secret'])
  const old = await client.call('confirmTotp', { body: { code: codeOf(String(begun.json['secret'])) } })
  expect(outcome(old)).toEqual([401, 'CODE_INVALID'])
  await client.expect('confirmTotp', 200, { body: { code: codeOf(String(again.json['secret'])) } })
  expect(outcome(await client.call('enrolTotp', { body: { password: PASSWORD } }))).toEqual([409, 'CONFLICT'])
  expect(outcome(await client.call('confirmTotp', { body: { code: '000000' } }))).toEqual([409, 'CONFLICT'])
})

it('is not begun without the password', async () => {
  const { client } = await newUser()
  expect(outcome(await client.call('enrolTotp', { body: { password: 'wrong' } }))).toEqual([401, 'LOGIN_FAILED'])
})

it('has recovery codes, of which each works once, however it is written', async () => {
  const { phone, recovery } = await enrolled()
  expect(recovery).toHaveLength(10)
  const [first = '', second = ''] = recovery
  expect(first).toMatch(/^([a-z2-9]{4}-){3}[a-z2-9]{4}$/)
  expect(outcome(await login(phone, first))).toBe(200)
  expect(outcome(await login(phone, first))).toEqual([401, 'CODE_INVALID'])
  expect(outcome(await login(phone, second.toUpperCase().replaceAll('-', ' ')))).toBe(200)
  const other = await enrolled()
  expect(outcome(await login(other.phone, recovery[2]))).toEqual([401, 'CODE_INVALID'])
})

it('has recovery codes that are renewed with the password or a code', async () => {
  const { client, phone, secret, recovery } = await enrolled()
  const renew = (body: object): Promise<ManagementAnswer> => client.call('renewRecoveryCodes', { body })
  expect([outcome(await renew({})), outcome(await renew({ password: 'wrong' }))]).toEqual([
    [400, 'INVALID_FIELD'],
    [401, 'LOGIN_FAILED'],
  ])
  expect(outcome(await renew({ code: '000000' }))).toEqual([401, 'CODE_INVALID'])
  expect(outcome(await renew({ password: PASSWORD, code: '000000' }))).toEqual([401, 'CODE_INVALID'])
  const first = (await renew({ password: PASSWORD })).json['recovery_codes'] as string[]
  expect(first).toHaveLength(10)
  expect(outcome(await login(phone, recovery[0]))).toEqual([401, 'CODE_INVALID'])
  const second = (await renew({ code: first[0] })).json['recovery_codes'] as string[]
  expect(outcome(await login(phone, first[1]))).toEqual([401, 'CODE_INVALID'])
  expect(outcome(await login(phone, second[1]))).toBe(200)
  expect(outcome(await renew({ code: codeOf(secret, 1) }))).toBe(200)
  const { client: without } = await newUser()
  const answer = await without.call('renewRecoveryCodes', { body: { password: PASSWORD } })
  expect(outcome(answer)).toEqual([409, 'CONFLICT'])
})

it('does not wait for itself when a client sends an Idempotency-Key', async () => {
  const { client } = await newUser()
  const headers = { 'idempotency-key': 'once' }
  const begun = await client.expect('enrolTotp', 200, { body: { password: PASSWORD }, headers })
  const secret = String(begun.json['secret'])
  await client.expect('confirmTotp', 200, { body: { code: codeOf(secret) }, headers })
  await client.expect('renewRecoveryCodes', 200, { body: { password: PASSWORD }, headers })
  await client.expect('disableTotp', 204, { body: { password: PASSWORD, code: codeOf(secret, 1) }, headers })
})

it('is turned off with password and code, and by an admin', async () => {
  const { client, phone, secret, id } = await enrolled()
  const disable = (password: string, code: string): Promise<ManagementAnswer> =>
    client.call('disableTotp', { body: { password, code } })
  expect(outcome(await disable('wrong', codeOf(secret, 1)))).toEqual([401, 'LOGIN_FAILED'])
  expect(outcome(await disable(PASSWORD, '000000'))).toEqual([401, 'CODE_INVALID'])
  expect(outcome(await disable(PASSWORD, codeOf(secret, 1)))).toBe(204)
  expect(outcome(await login(phone))).toBe(200)
  expect(outcome(await disable(PASSWORD, codeOf(secret, 1)))).toEqual([409, 'CONFLICT'])
  expect(outcome(await admin.call('adminResetTotp', { params: { id } }))).toEqual([404, 'NOT_FOUND'])

  const lost = await enrolled()
  await admin.expect('adminResetTotp', 204, { params: { id: lost.id } })
  expect(outcome(await login(lost.phone))).toBe(200)
  expect(outcome(await lost.client.call('adminResetTotp', { params: { id } }))).toEqual([403, 'ROLE_DENIED'])
})

it('slows guesses at the code down, from whatever address', async () => {
  const { phone, secret } = await enrolled()
  for (let guess = 0; guess < 10; guess++) {
    expect(outcome(await login(phone, '000000'))).toEqual([401, 'CODE_INVALID'])
  }
  const refused = await login(phone, codeOf(secret, 1))
  expect(outcome(refused)).toEqual([429, 'LOGIN_THROTTLED'])
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(60)
  // Sent at the same time, no more guesses get through.
  const other = await enrolled()
  const guesses = await Promise.all(Array.from({ length: 20 }, () => login(other.phone, '000000')))
  expect(guesses.filter(({ status }) => status === 401)).toHaveLength(10)
})

it('leaves no code, secret or recovery code in the audit log', async () => {
  const { secret, recovery, client } = await enrolled()
  const code = codeOf(secret, 1)
  await client.expect('disableTotp', 204, { body: { password: PASSWORD, code } })
  const { text } = await admin.expect('adminAudit', 200, { query: { limit: '100' } })
  expect(text).toContain('disableTotp')
  for (const hidden of [secret, ...recovery, `"${code}"`, PASSWORD]) expect(text).not.toContain(hidden)
})
