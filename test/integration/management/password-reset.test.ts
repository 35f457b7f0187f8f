import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { itLater } from '../../support/dose.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { MailServer } from '../../support/mail-server.ts'
import { ManagementClient } from '../../support/management-client.ts'
import type { ManagementAnswer } from '../../support/management-client.ts'

const PASSWORD = 'correct horse battery'
const NEW_PASSWORD = 'another long password'
let mails: MailServer
let gateway: TestGateway
let admin: ManagementClient

beforeAll(async () => {
  mails = await MailServer.start()
  gateway = await startGateway({
    config: {
      server: { trusted_proxies: ['127.0.0.1'] },
      auth: { console_url: 'https://ai.example.com/console' },
      mail: mails.config,
    },
  })
  admin = await ManagementClient.ofAdmin(gateway)
})

afterAll(async () => {
  await gateway.stop()
  await mails.stop()
})

let last = 0
/** A user, whose address is verified when `email` is given. */
async function newUser(email?: string): Promise<{ client: ManagementClient; id: string; phone: string }> {
  last += 1
  const phone = `+1202555${String(6000 + last)}`
  const { json } = await admin.expect('adminCreateUser', 201, { body: { phone, name: 'Ada', password: PASSWORD } })
  const client = new ManagementClient(gateway.url)
  await client.login(phone, PASSWORD)
  if (email !== undefined) {
    await client.expect('changeEmail', 200, { body: { email, password: PASSWORD } })
    await client.expect('verifyEmail', 204, { body: { token: await mails.tokenTo(email) } })
  }
  return { client, id: String(json['id']), phone }
}

let lastAddress = 0
/** Asks from an address of its own, unless one is given. */
function forgot(body: unknown, address = `198.51.100.${(lastAddress += 1)}`): Promise<ManagementAnswer> {
  return admin.call('forgotPassword', { body, token: null, headers: { 'x-forwarded-for': address } })
}

const errorOf = ({ json }: ManagementAnswer): Record<string, unknown> => json['error'] as Record<string, unknown>
const mailsTo = (address: string): number => mails.received.filter(({ to }) => to.includes(address)).length

it('an invitation leads to the console, with its token', async () => {
  const { json: enterprise } = await admin.expect('adminCreateEnterprise', 201, { body: { name: 'Acme' } })
  const body = { email: 'invited@example.com', role: 'employee' }
  const { json } = await admin.expect('invite', 201, { params: { id: String(enterprise['id']) }, body })
  const token = await mails.tokenTo('invited@example.com')
  expect(token).toBe(json['token'])
  expect(mails.received.at(-1)?.body).toContain(`https://ai.example.com/console/invitation#token=${token}`)
})

describe('a password', () => {
  it('is reset once with the link of an e-mail, and all sessions end', async () => {
    const { client, id, phone } = await newUser('reset@example.com')
    expect((await forgot({ phone })).status).toBe(204)
    const token = await mails.tokenTo('reset@example.com', 2)
    const mail = mails.received.at(-1)
    expect(mail?.subject).toBe('Reset your password for Sluice')
    expect(mail?.body).toContain(`https://ai.example.com/console/reset-password#token=${token}`)

    const common = await admin.call('resetPassword', { body: { token, new_password: 'qwertyuiop' }, token: null })
    expect([common.status, errorOf(common)['param']]).toEqual([400, '/new_password'])
    await admin.expect('resetPassword', 204, { body: { token, new_password: NEW_PASSWORD }, token: null })
    expect(errorOf(await client.call('me'))['code']).toBe('TOKEN_INVALID')
    expect(errorOf(await client.call('login', { body: { phone, password: PASSWORD } }))['code']).toBe('LOGIN_FAILED')
    await client.login(phone, NEW_PASSWORD)

    const again = await admin.call('resetPassword', { body: { token, new_password: PASSWORD }, token: null })
    expect([again.status, errorOf(again)['code'], errorOf(again)['param']]).toEqual([
      400,
      'MAILED_TOKEN_INVALID',
      '/token',
    ])
    for (const operation of ['forgotPassword', 'resetPassword']) {
      const { text } = await admin.expect('adminAudit', 200, { query: { operation } })
      expect(text).toContain(id)
      expect(text).not.toContain(token)
    }
  })

  it('is found by e-mail too, in any case of letters, and one reset ends the other links', async () => {
    const { phone } = await newUser('Two@example.com')
    await forgot({ email: 'two@EXAMPLE.com' })
    const first = await mails.tokenTo('Two@example.com', 2)
    await forgot({ phone })
    const second = await mails.tokenTo('Two@example.com', 3)
    await admin.expect('resetPassword', 204, { body: { token: second, new_password: NEW_PASSWORD }, token: null })
    const other = await admin.call('resetPassword', { body: { token: first, new_password: PASSWORD }, token: null })
    expect(errorOf(other)['code']).toBe('MAILED_TOKEN_INVALID')
  })

  itLater('is not reset by the link of a disabled user, or one of another purpose', async () => {
    const { id, phone } = await newUser('late@example.com')
    await forgot({ phone })
    const token = await mails.tokenTo('late@example.com', 2)
    const reset = (): Promise<ManagementAnswer> =>
      admin.call('resetPassword', { body: { token, new_password: NEW_PASSWORD }, token: null })
    await admin.expect('adminUpdateUser', 200, { params: { id }, body: { status: 'disabled' } })
    expect(errorOf(await reset())['code']).toBe('MAILED_TOKEN_INVALID')
    await admin.expect('adminUpdateUser', 200, { params: { id }, body: { status: 'active' } })

    const { client } = await newUser()
    await client.expect('changeEmail', 200, { body: { email: 'purpose@example.com', password: PASSWORD } })
    const verification = await mails.tokenTo('purpose@example.com')
    const wrong = await admin.call('resetPassword', {
      body: { token: verification, new_password: NEW_PASSWORD },
      token: null,
    })
    expect(errorOf(wrong)['code']).toBe('MAILED_TOKEN_INVALID')
    expect(errorOf(await client.call('verifyEmail', { body: { token } }))['code']).toBe('MAILED_TOKEN_INVALID')
    await client.expect('verifyEmail', 204, { body: { token: verification } })
  })

  it('is not reset by a link from before its change', async () => {
    const { client, id, phone } = await newUser('change@example.com')
    await forgot({ phone })
    const first = await mails.tokenTo('change@example.com', 2)
    const changed = await client.expect('changePassword', 200, {
      body: { old_password: PASSWORD, new_password: NEW_PASSWORD },
    })
    client.token = String(changed.json['token'])
    await forgot({ phone })
    const second = await mails.tokenTo('change@example.com', 3)
    await admin.expect('adminUpdateUser', 200, { params: { id }, body: { password: PASSWORD } })
    for (const token of [first, second]) {
      const late = await admin.call('resetPassword', { body: { token, new_password: NEW_PASSWORD }, token: null })
      expect(errorOf(late)['code']).toBe('MAILED_TOKEN_INVALID')
    }
  })

  it('is asked for with the same answer, whether or not there is a user', async () => {
    const { phone } = await newUser('same@example.com')
    const unverified = await newUser()
    await unverified.client.expect('changeEmail', 200, { body: { email: 'typo@example.com', password: PASSWORD } })
    await mails.tokenTo('typo@example.com')
    const told = async (body: unknown): Promise<unknown> => {
      const { status, text, headers } = await forgot(body)
      return [status, text, [...headers.keys()].sort()]
    }
    const known = await told({ phone })
    const others = [{ phone: '+12025550000' }, { email: 'no@example.com' }, { phone: unverified.phone }]
    for (const body of others) expect(await told(body)).toEqual(known)
    await mails.tokenTo('same@example.com', 2)
    expect([mailsTo('no@example.com'), mailsTo('typo@example.com')]).toEqual([0, 1])
    // Nobody fills the audit log with requests for users who do not exist.
    const { text } = await admin.expect('adminAudit', 200, { query: { operation: 'forgotPassword', limit: '100' } })
    for (const name of ['+12025550000', 'no@example.com', unverified.id]) expect(text).not.toContain(name)
  })

  it.each([
    [{}, '/phone'],
    [{ phone: '+12025550000', email: 'a@example.com' }, '/email'],
    [{ phone: 'me@@' }, '/phone'],
    [{ email: 'nobody' }, '/email'],
  ])('is asked for properly: %j', async (body, param) => {
    const answer = await forgot(body)
    expect([answer.status, errorOf(answer)['param']]).toEqual([400, param])
  })

  itLater('is asked for a few times from one address, and mailed a few times to one user', async () => {
    const statuses: number[] = []
    for (let number = 0; number < 11; number++) {
      statuses.push((await forgot({ phone: `+120255550${10 + number}` }, '203.0.113.7')).status)
    }
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 204), 429])
    const refused = await forgot({ phone: '+12025550000' }, '203.0.113.7')
    expect(errorOf(refused)['code']).toBe('EMAILS_THROTTLED')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)

    const { phone } = await newUser('often@example.com')
    for (let number = 0; number < 5; number++) expect((await forgot({ phone })).status).toBe(204)
    const other = await newUser('after@example.com')
    await forgot({ phone: other.phone })
    await mails.tokenTo('after@example.com', 2)
    await mails.tokenTo('often@example.com', 4)
    expect(mailsTo('often@example.com')).toBe(4)
  })
})

describe('an e-mail address', () => {
  it('replaces the old one when its token is sent, once, by the user who entered it', async () => {
    const { client } = await newUser()
    const { json } = await client.expect('changeEmail', 200, { body: { email: 'ada@example.com', password: PASSWORD } })
    expect(json).toMatchObject({ email: null, email_verified: false, pending_email: 'ada@example.com' })
    const token = await mails.tokenTo('ada@example.com')
    const verify = (by: ManagementClient): Promise<ManagementAnswer> => by.call('verifyEmail', { body: { token } })
    // The owner of the address may click on the link: that must not give the address to who entered it.
    expect(errorOf(await verify((await newUser()).client))['code']).toBe('MAILED_TOKEN_INVALID')
    expect((await verify(new ManagementClient(gateway.url))).status).toBe(401)
    expect((await verify(client)).status).toBe(204)
    const proven = { email: 'ada@example.com', email_verified: true, pending_email: null }
    expect((await client.expect('me', 200)).json).toMatchObject(proven)
    expect(errorOf(await verify(client))['code']).toBe('MAILED_TOKEN_INVALID')
    const again = await client.expect('changeEmail', 200, { body: { email: 'ADA@example.com', password: PASSWORD } })
    expect(again.json).toMatchObject(proven)
    await client.expect('changeEmail', 200, { body: { email: null, password: PASSWORD } })
    expect((await client.expect('me', 200)).json).toMatchObject({ email: null, email_verified: false })
  })

  it('stays until the new one is verified, which ends the links of the earlier one', async () => {
    const { client, phone } = await newUser('old@example.com')
    await forgot({ phone })
    const reset = await mails.tokenTo('old@example.com', 2)
    await client.expect('changeEmail', 200, { body: { email: 'new@example.com', password: PASSWORD } })
    await client.expect('changeEmail', 200, { body: { email: 'newer@example.com', password: PASSWORD } })
    const unused = await mails.tokenTo('new@example.com')
    expect(errorOf(await client.call('verifyEmail', { body: { token: unused } }))['code']).toBe('MAILED_TOKEN_INVALID')
    expect((await client.expect('me', 200)).json).toMatchObject({ email: 'old@example.com', email_verified: true })
    await client.expect('verifyEmail', 204, { body: { token: await mails.tokenTo('newer@example.com') } })
    const late = await admin.call('resetPassword', { body: { token: reset, new_password: NEW_PASSWORD }, token: null })
    expect(errorOf(late)['code']).toBe('MAILED_TOKEN_INVALID')
  })

  it('is changed only with the password, and verified for one user', async () => {
    await newUser('taken@example.com')
    const { client } = await newUser()
    const wrong = await client.call('changeEmail', { body: { email: 'x@example.com', password: 'wrong' } })
    expect(errorOf(wrong)['code']).toBe('LOGIN_FAILED')
    // The answer does not tell that the address is taken.
    await client.expect('changeEmail', 200, { body: { email: 'TAKEN@example.com', password: PASSWORD } })
    const token = await mails.tokenTo('TAKEN@example.com')
    const taken = await client.call('verifyEmail', { body: { token } })
    expect([taken.status, errorOf(taken)['code']]).toEqual([409, 'CONFLICT'])
    const list = await admin.expect('adminListUsers', 200)
    expect(JSON.stringify(list.json)).toContain('"email_verified":true')
  })

  it('that an admin sets is not verified, and ends the links of the earlier one', async () => {
    const { client, id, phone } = await newUser('before@example.com')
    await forgot({ phone })
    const reset = await mails.tokenTo('before@example.com', 2)
    const set = (email: string): Promise<ManagementAnswer> =>
      admin.expect('adminUpdateUser', 200, { params: { id }, body: { email } })
    expect((await set('BEFORE@example.com')).json).toMatchObject({ email_verified: true })
    expect((await set('set@example.com')).json).toMatchObject({ email: 'set@example.com', email_verified: false })
    const late = await admin.call('resetPassword', { body: { token: reset, new_password: NEW_PASSWORD }, token: null })
    expect(errorOf(late)['code']).toBe('MAILED_TOKEN_INVALID')
    await client.expect('changeEmail', 200, { body: { email: 'set@example.com', password: PASSWORD } })
    await client.expect('verifyEmail', 204, { body: { token: await mails.tokenTo('set@example.com') } })
    expect((await client.expect('me', 200)).json).toMatchObject({ email: 'set@example.com', email_verified: true })
  })

  it('goes from a user who has not verified it to the one who has', async () => {
    const unproven = await newUser()
    const body = { email: 'owned@example.com' }
    await admin.expect('adminUpdateUser', 200, { params: { id: unproven.id }, body })
    const owner = await newUser('Owned@example.com')
    expect((await owner.client.expect('me', 200)).json).toMatchObject({ email: 'Owned@example.com' })
    expect((await unproven.client.expect('me', 200)).json).toMatchObject({ email: null })
    const { text } = await admin.expect('adminAudit', 200, { query: { operation: 'verifyEmail' } })
    expect(text).toContain(unproven.id)
  })

  it('is free again when its user is deleted, and the links of that user are void', async () => {
    const { id, phone } = await newUser('gone@example.com')
    await forgot({ phone })
    const token = await mails.tokenTo('gone@example.com', 2)
    await admin.expect('adminDeleteUser', 204, { params: { id } })
    const late = await admin.call('resetPassword', { body: { token, new_password: NEW_PASSWORD }, token: null })
    expect(errorOf(late)['code']).toBe('MAILED_TOKEN_INVALID')
    await forgot({ email: 'gone@example.com' })
    const { client } = await newUser()
    await client.expect('changeEmail', 200, { body: { email: 'gone@example.com', password: PASSWORD } })
    await client.expect('verifyEmail', 204, { body: { token: await mails.tokenTo('gone@example.com', 3) } })
  })
})

describe('the methods of sign-in', () => {
  const methods = async (at: string): Promise<unknown> =>
    (await new ManagementClient(at).expect('signInMethods', 200)).json

  itLater('are told to everybody', async () => {
    expect(await methods(gateway.url)).toEqual({
      password: true,
      registration: false,
      password_reset: true,
      oidc: null,
    })
    const bare = await startGateway({ config: { auth: { registration: 'open' } } })
    expect(await methods(bare.url)).toMatchObject({ registration: true, password_reset: false })
    await bare.stop()
  })
})

describe('without a mail server', () => {
  itLater('a reset says which setting is missing', async () => {
    const bare = await startGateway()
    const client = new ManagementClient(bare.url)
    const answer = await client.call('forgotPassword', { body: { phone: '+12025550000' } })
    expect(answer.status).toBe(503)
    expect(errorOf(answer)).toMatchObject({
      code: 'MAIL_UNAVAILABLE',
      message: expect.stringContaining('mail.smtp') as string,
    })
    await bare.stop()
  })

  itLater('nor an address for links, a reset says so too', async () => {
    const bare = await startGateway({ config: { mail: mails.config } })
    const client = new ManagementClient(bare.url)
    const answer = await client.call('forgotPassword', { body: { phone: '+12025550000' } })
    expect(errorOf(answer)['message']).toContain('server.base_url')
    await bare.stop()
  })
})
