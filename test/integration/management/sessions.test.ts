import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { itLater } from '../../support/dose.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'

const PASSWORD = 'correct horse battery'
let gateway: TestGateway
let admin: ManagementClient

beforeAll(async () => {
  gateway = await startGateway({ config: { auth: { registration: 'open' } } })
  admin = await ManagementClient.ofAdmin(gateway)
})

afterAll(async () => {
  await gateway.stop()
})

let lastNumber = 0
async function newUser(): Promise<{ client: ManagementClient; id: string; phone: string }> {
  lastNumber += 1
  const phone = `+1202555${String(1000 + lastNumber)}`
  const { json } = await admin.expect('adminCreateUser', 201, { body: { phone, name: 'Ada', password: PASSWORD } })
  const client = new ManagementClient(gateway.url)
  await client.login(phone, PASSWORD)
  return { client, id: String(json['id']), phone }
}

const codeOf = ({ json }: { json: Record<string, unknown> }): unknown => (json['error'] as { code?: unknown }).code

describe('a session', () => {
  it('begins with phone and password, however the number is written', async () => {
    const { client, id } = await newUser()
    const me = await client.expect('me', 200)
    expect(me.json).toMatchObject({ id, name: 'Ada', role: 'user', enterprises: [] })
    const spaced = `+1 (202) 555-${String(1000 + lastNumber)}`
    await client.expect('login', 200, { body: { phone: spaced, password: PASSWORD } })
  })

  it('does not begin with a wrong password, for nobody, or with half of it', async () => {
    const { client, phone } = await newUser()
    const login = (body: unknown) => client.call('login', { body })
    expect(codeOf(await login({ phone, password: 'wrong' }))).toBe('LOGIN_FAILED')
    expect(codeOf(await login({ phone: '+12025559999', password: PASSWORD }))).toBe('LOGIN_FAILED')
    expect(await login({ phone })).toMatchObject({ status: 400, json: { error: { param: '/password' } } })
    expect(await login({ phone: 'me', password: 'x' })).toMatchObject({
      status: 400,
      json: { error: { param: '/phone' } },
    })
    expect(await login({ phone, password: 'x', otp: 1 })).toMatchObject({ json: { error: { param: '/otp' } } })
  })

  it('ends at once with the log-out, and no other with it', async () => {
    const { client, phone } = await newUser()
    const other = new ManagementClient(gateway.url)
    await other.login(phone, PASSWORD)
    await client.expect('logout', 204)
    expect(codeOf(await client.call('me'))).toBe('TOKEN_INVALID')
    await other.expect('me', 200)
  })

  it('survives a change of the password that it makes itself, alone', async () => {
    const { client, phone } = await newUser()
    const other = new ManagementClient(gateway.url)
    await other.login(phone, PASSWORD)
    const wrong = await client.call('changePassword', { body: { old_password: 'x', new_password: 'another long one' } })
    expect(codeOf(wrong)).toBe('LOGIN_FAILED')
    const changed = await client.expect('changePassword', 200, {
      body: { old_password: PASSWORD, new_password: 'another long one' },
    })
    expect(codeOf(await client.call('me'))).toBe('TOKEN_INVALID')
    expect(codeOf(await other.call('me'))).toBe('TOKEN_INVALID')
    client.token = String(changed.json['token'])
    await client.expect('me', 200)
    await client.login(phone, 'another long one')
  })

  it('ends when the user is disabled, and begins again when it is not any more', async () => {
    const { client, id, phone } = await newUser()
    await admin.expect('adminUpdateUser', 200, { params: { id }, body: { status: 'disabled' } })
    expect(codeOf(await client.call('me'))).toBe('TOKEN_INVALID')
    expect(codeOf(await client.call('login', { body: { phone, password: PASSWORD } }))).toBe('LOGIN_FAILED')
    await admin.expect('adminUpdateUser', 200, { params: { id }, body: { status: 'active' } })
    expect(codeOf(await client.call('me'))).toBe('TOKEN_INVALID')
    await client.login(phone, PASSWORD)
  })

  it('begins with registration where that is open, once per phone', async () => {
    const client = new ManagementClient(gateway.url)
    const body = { phone: '+12025557777', password: PASSWORD, name: 'Grace' }
    const { json } = await client.expect('register', 200, { body })
    expect(json['user']).toMatchObject({ name: 'Grace', role: 'user' })
    expect(await client.call('register', { body })).toMatchObject({ status: 409, json: { error: { param: '/phone' } } })
    const short = await client.call('register', { body: { ...body, phone: '+12025557778', password: 'short' } })
    expect(short).toMatchObject({ status: 400, json: { error: { param: '/password' } } })
  })
})

describe('the sessions of a user', () => {
  const listed = async (client: ManagementClient, query = {}): Promise<Array<Record<string, unknown>>> =>
    (await client.expect('listSessions', 200, { query })).json['data'] as Array<Record<string, unknown>>

  it('are listed with their client, and end one by one', async () => {
    const { client, phone } = await newUser()
    const phoneClient = new ManagementClient(gateway.url)
    const headers = { 'user-agent': 'Phone/1.0' }
    const { json } = await phoneClient.expect('login', 200, { body: { phone, password: PASSWORD }, headers })
    phoneClient.token = String(json['token'])

    const both = await listed(client)
    expect(both).toHaveLength(2)
    expect(both.find(({ user_agent: agent }) => agent === 'Phone/1.0')).toMatchObject({
      current: false,
      address: '127.0.0.1',
    })
    expect(both.filter(({ current }) => current)).toHaveLength(1)
    expect(await listed(client, { limit: '1', page: '2' })).toHaveLength(1)
    expect((await listed(phoneClient)).find(({ current }) => current)).toMatchObject({ user_agent: 'Phone/1.0' })

    const other = both.find(({ current }) => current === false)
    await client.expect('endSession', 204, { params: { id: String(other?.['id']) } })
    expect(codeOf(await phoneClient.call('me'))).toBe('TOKEN_INVALID')
    expect(codeOf(await client.call('endSession', { params: { id: String(other?.['id']) } }))).toBe('NOT_FOUND')
    const [own, ...rest] = await listed(client)
    expect([own?.['current'], rest]).toEqual([true, []])
    await client.expect('endSession', 204, { params: { id: String(own?.['id']) } })
    expect(codeOf(await client.call('me'))).toBe('TOKEN_INVALID')
  })

  it('are those of the user alone', async () => {
    const ada = await newUser()
    const eve = await newUser()
    const [theirs] = await listed(ada.client)
    const id = String(theirs?.['id'])
    expect((await listed(eve.client)).map((one) => one['id'])).not.toContain(id)
    expect(codeOf(await eve.client.call('endSession', { params: { id } }))).toBe('NOT_FOUND')
    await ada.client.expect('me', 200)
  })

  it('leave the list with a log-out and a change of the password', async () => {
    const { client, phone } = await newUser()
    const other = new ManagementClient(gateway.url)
    await other.login(phone, PASSWORD)
    await other.expect('logout', 204)
    expect(await listed(client)).toHaveLength(1)
    await other.login(phone, PASSWORD)
    const changed = await client.expect('changePassword', 200, {
      body: { old_password: PASSWORD, new_password: 'another long one' },
    })
    client.token = String(changed.json['token'])
    expect(await listed(client)).toMatchObject([{ current: true }])
  })

  itLater('are a hundred at most: a further log-in ends the least recently used', { timeout: 120_000 }, async () => {
    const { client, phone } = await newUser()
    const body = { phone, password: PASSWORD }
    for (let number = 0; number < 100; number++) await client.expect('login', 200, { body, token: null })
    expect(codeOf(await client.call('me'))).toBe('TOKEN_INVALID')
    await client.login(phone, PASSWORD)
    const { json } = await client.expect('listSessions', 200)
    expect(json['total']).toBe(100)
  })
})

describe('what needs a session', () => {
  it('takes no token that is none of ours', async () => {
    const client = new ManagementClient(gateway.url)
    for (const token of [null, 'x', gateway.apiKey, `${admin.token ?? ''}x`]) {
      expect(codeOf(await client.call('me', { token }))).toBe('TOKEN_INVALID')
    }
  })

  it('is for admins where it is about everyone', async () => {
    const { client } = await newUser()
    for (const name of ['adminListUsers', 'adminListLogs', 'adminUsage', 'adminJournal', 'metrics'] as const) {
      expect([name, codeOf(await client.call(name))]).toEqual([name, 'ROLE_DENIED'])
      await admin.expect(name, 200)
    }
  })
})

describe('the users', () => {
  it('are listed by pages, found by name and phone, and shown one by one', async () => {
    const { id, phone } = await newUser()
    const found = await admin.expect('adminListUsers', 200, { query: { search: phone.slice(-6) } })
    expect(found.json).toMatchObject({ total: 1, has_more: false, data: [{ id, phone }] })
    const first = await admin.expect('adminListUsers', 200, { query: { limit: '1' } })
    expect(first.json).toMatchObject({ page: 1, limit: 1, has_more: true })
    // A wildcard of LIKE is a character like any other.
    const wild = await admin.expect('adminListUsers', 200, { query: { search: '%%' } })
    expect(wild.json).toMatchObject({ total: 0 })
    const one = await admin.expect('adminGetUser', 200, { params: { id } })
    expect(one.json).not.toHaveProperty('password_hash')
    expect(codeOf(await admin.call('adminGetUser', { params: { id: 'user_x' } }))).toBe('NOT_FOUND')
  })

  it('cannot lock the last admin out', async () => {
    const me = await admin.expect('me', 200)
    const id = String(me.json['id'])
    for (const body of [{ status: 'disabled' }, { role: 'user' }]) {
      expect(codeOf(await admin.call('adminUpdateUser', { params: { id }, body }))).toBe('CONFLICT')
    }
  })

  it.each([
    [{ limit: '0' }, '/limit'],
    [{ limit: '101' }, '/limit'],
    [{ page: 'x' }, '/page'],
    [{ search: 'a' }, '/search'],
    [{ nothing: '1' }, '/nothing'],
  ])('are asked for properly: %j', async (query, param) => {
    const answer = await admin.call('adminListUsers', { query })
    expect(answer).toMatchObject({ status: 400, json: { error: { code: 'INVALID_FIELD', param } } })
  })
})
