import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'

const PASSWORD = 'correct horse battery'
const TOKENS = 20

let simulator: Simulator
let gateway: TestGateway
let admin: ManagementClient
let lastNumber = 0

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
    config: { models: [{ id: 'm', prices: { input: 0, output: 1_000_000 } }] },
  })
  admin = await ManagementClient.ofAdmin(gateway)
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

interface Somebody {
  readonly id: string
  readonly client: ManagementClient
  readonly phone: string
}

async function newUser(more: object = {}): Promise<Somebody> {
  lastNumber += 1
  const phone = `+1202555${String(7000 + lastNumber)}`
  const { json } = await admin.expect('adminCreateUser', 201, {
    body: { phone, name: 'Ada', password: PASSWORD, ...more },
  })
  const client = new ManagementClient(gateway.url)
  await client.login(phone, PASSWORD)
  return { id: String(json['id']), client, phone }
}

async function newEnterprise(name = 'Acme'): Promise<{ id: string; owner: Somebody }> {
  const owner = await newUser()
  const { json } = await admin.expect('adminCreateEnterprise', 201, { body: { name, owner_phone: owner.phone } })
  return { id: String(json['id']), owner }
}

async function join(id: string, owner: Somebody, user: Somebody, role: string): Promise<string> {
  const invited = await owner.client.expect('invite', 201, { params: { id }, body: { phone: user.phone, role } })
  await user.client.expect('acceptInvitation', 200, { body: { token: invited.json['token'] } })
  const { json } = await owner.client.expect('listMembers', 200, { params: { id } })
  return (json['data'] as Array<{ id: string; user: { id: string } }>).find((one) => one.user.id === user.id)?.id ?? ''
}

async function chat(key: string): Promise<{ status: number; code: string | undefined }> {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'm',
      max_tokens: TOKENS,
      messages: [{ role: 'user', content: `hi [[sim {"tokens":${TOKENS}}]]` }],
    }),
  })
  const { error } = (await response.json()) as { error?: { code: string } }
  return { status: response.status, code: error?.code }
}

const codeOf = ({ json }: { json: Record<string, unknown> }): unknown => (json['error'] as { code?: unknown }).code
/** Resolves to the number of requests that were served before the fronts heard of the deletion. */
async function isRefused(key: string): Promise<number> {
  let served = 0
  await eventually(async () => {
    const { status, code } = await chat(key)
    if (status === 200) served += 1
    expect([status, code]).toEqual([401, 'KEY_UNKNOWN'])
  })
  return served
}

describe('an enterprise that its owner deletes', () => {
  it(
    'loses its keys and invitations at once, and its books stay for platform admins',
    { timeout: 60_000 },
    async () => {
      const { id, owner } = await newEnterprise('Doomed Ltd')
      const params = { id }
      const employee = await newUser()
      await join(id, owner, employee, 'admin')
      const made = await owner.client.expect('createEnterpriseKey', 201, { params, body: { name: 'k' } })
      const key = String(made.json['key'])
      const rotated = await owner.client.expect('rotateEnterpriseKey', 200, {
        params: { id, keyId: String(made.json['id']) },
        body: {},
      })
      expect((await chat(key)).status).toBe(200)
      expect((await chat(String(rotated.json['key']))).status).toBe(200)
      const open = await owner.client.expect('invite', 201, {
        params,
        body: { email: 'a@example.com', role: 'employee' },
      })
      const asker = await newUser()
      const asked = await asker.client.expect('askToJoin', 201, { params, body: {} })
      await eventually(async () => {
        const { json } = await admin.expect('getWallet', 200, { params })
        expect(json['charged']).toBe(2 * TOKENS)
      })

      expect(codeOf(await employee.client.call('deleteEnterprise', { params }))).toBe('ROLE_DENIED')
      expect(codeOf(await (await newUser()).client.call('deleteEnterprise', { params }))).toBe('NOT_FOUND')
      await owner.client.expect('deleteEnterprise', 204, { params })
      const served = 2 + (await isRefused(key)) + (await isRefused(String(rotated.json['key'])))
      const charged = served * TOKENS
      await eventually(async () => {
        expect((await admin.expect('getWallet', 200, { params })).json['charged']).toBe(charged)
      })
      const logged = await admin.expect('enterpriseLogs', 200, { params, query: { status: '200', limit: '100' } })
      expect(logged.json['data']).toHaveLength(served)
      for (const { client } of [owner, employee]) {
        expect(codeOf(await client.call('getEnterprise', { params }))).toBe('NOT_FOUND')
        expect((await client.expect('me', 200)).json['enterprises']).toEqual([])
      }
      expect(codeOf(await owner.client.call('deleteEnterprise', { params }))).toBe('NOT_FOUND')
      expect(codeOf(await asker.client.call('askToJoin', { params, body: {} }))).toBe('NOT_FOUND')
      const late = { phone: '+12025557999', password: PASSWORD, name: 'New', invitation_token: open.json['token'] }
      expect(codeOf(await asker.client.call('register', { body: late }))).toBe('NOT_FOUND')
      expect(
        (await owner.client.expect('searchEnterprises', 200, { query: { phone: owner.phone } })).json['data'],
      ).toEqual([])

      // The platform still sees these, and cannot change them.
      const shown = await admin.expect('adminGetEnterprise', 200, { params })
      expect(shown.json).toMatchObject({ status: 'deleted', deleted_at: expect.any(String) as string })
      const listed = async (query: Record<string, string>): Promise<unknown[]> =>
        (await admin.expect('adminListEnterprises', 200, { query: { search: 'Doomed', ...query } })).json[
          'data'
        ] as unknown[]
      expect(await listed({})).toEqual([])
      expect(await listed({ status: 'deleted' })).toMatchObject([{ id }])
      const usage = await admin.expect('enterpriseUsage', 200, { params })
      expect(usage.json['totals']).toMatchObject({ cost: charged })
      expect((await admin.expect('listMembers', 200, { params })).json['total']).toBe(2)
      expect((await admin.expect('listJoinRequests', 200, { params })).json['data']).toMatchObject([
        { id: asked.json['id'], status: 'rejected' },
      ])
      const name = { name: 'Reborn', status: 'active' }
      expect(codeOf(await admin.call('adminUpdateEnterprise', { params, body: name }))).toBe('CONFLICT')
      expect(codeOf(await admin.call('createEnterpriseKey', { params, body: { name: 'k' } }))).toBe('CONFLICT')
      expect(codeOf(await admin.call('adminDeleteEnterprise', { params }))).toBe('NOT_FOUND')
    },
  )

  it('is deleted by platform admins too, and its name is free', async () => {
    const { id } = await newEnterprise('Twice')
    await admin.expect('adminDeleteEnterprise', 204, { params: { id } })
    const again = await newEnterprise('Twice')
    expect(again.id).not.toBe(id)
    expect(codeOf(await admin.call('adminDeleteEnterprise', { params: { id: 'ent_x' } }))).toBe('NOT_FOUND')
  })
})

describe('a user whom a platform admin deletes', () => {
  it('loses sessions, keys and memberships at once; phone and e-mail are free for another account', async () => {
    const { id, owner } = await newEnterprise()
    const user = await newUser({ email: 'gone@example.com' })
    const memberId = await join(id, owner, user, 'employee')
    const own = await user.client.expect('createKey', 201, { body: { name: 'own' } })
    const issued = await owner.client.expect('createEnterpriseKey', 201, {
      params: { id },
      body: { name: 'issued', member_id: memberId },
    })
    expect((await chat(String(own.json['key']))).status).toBe(200)
    expect((await chat(String(issued.json['key']))).status).toBe(200)
    await eventually(async () => {
      const { json } = await admin.expect('adminListLogs', 200, { query: { key_id: String(own.json['id']) } })
      expect(json['data']).toHaveLength(1)
    })

    await admin.expect('adminDeleteUser', 204, { params: { id: user.id } })
    await isRefused(String(own.json['key']))
    await eventually(async () => {
      expect((await chat(String(issued.json['key']))).code).toBe('KEY_DISABLED')
    })
    expect(codeOf(await user.client.call('me'))).toBe('TOKEN_INVALID')
    expect(codeOf(await user.client.call('login', { body: { phone: user.phone, password: PASSWORD } }))).toBe(
      'LOGIN_FAILED',
    )
    expect((await owner.client.expect('listMembers', 200, { params: { id } })).json['total']).toBe(1)

    const shown = await admin.expect('adminGetUser', 200, { params: { id: user.id } })
    expect(shown.json).toMatchObject({ status: 'deleted', phone: user.phone, deleted_at: expect.any(String) as string })
    const { json } = await admin.expect('adminListLogs', 200, { query: { key_id: String(own.json['id']) } })
    expect((json['data'] as unknown[]).at(-1)).toMatchObject({ user_id: user.id })
    const listed = async (query: Record<string, string>): Promise<unknown> =>
      (await admin.expect('adminListUsers', 200, { query: { search: user.phone, ...query } })).json['data']
    expect(await listed({})).toEqual([])
    expect(await listed({ status: 'deleted' })).toMatchObject([{ id: user.id }])
    expect(codeOf(await admin.call('adminUpdateUser', { params: { id: user.id }, body: { status: 'active' } }))).toBe(
      'CONFLICT',
    )
    expect(codeOf(await admin.call('adminDeleteUser', { params: { id: user.id } }))).toBe('NOT_FOUND')

    const body = { phone: user.phone, email: 'Gone@example.com', name: 'Next', password: PASSWORD }
    const next = await admin.expect('adminCreateUser', 201, { body })
    expect(next.json['id']).not.toBe(user.id)
    const client = new ManagementClient(gateway.url)
    await client.login(user.phone, PASSWORD)
    expect((await client.expect('listKeys', 200)).json['data']).toEqual([])
    expect((await client.expect('me', 200)).json).toMatchObject({ id: next.json['id'], enterprises: [] })
  })

  it('must not be the only owner of an enterprise, nor oneself', async () => {
    const { id, owner } = await newEnterprise('Orphan Inc')
    const refused = await admin.call('adminDeleteUser', { params: { id: owner.id } })
    expect([refused.status, codeOf(refused)]).toEqual([409, 'CONFLICT'])
    expect(refused.text).toContain(`Orphan Inc (${id}): make another member an owner, or delete the enterprise, first`)
    expect((await owner.client.expect('me', 200)).json['enterprises']).toMatchObject([{ id }])
    const second = await newUser()
    await join(id, owner, second, 'owner')
    await admin.expect('adminDeleteUser', 204, { params: { id: owner.id } })
    expect(codeOf(await admin.call('adminDeleteUser', { params: { id: second.id } }))).toBe('CONFLICT')
    await second.client.expect('deleteEnterprise', 204, { params: { id } })
    await admin.expect('adminDeleteUser', 204, { params: { id: second.id } })
    const me = await admin.expect('me', 200)
    expect(codeOf(await admin.call('adminDeleteUser', { params: { id: String(me.json['id']) } }))).toBe('CONFLICT')
    expect((await second.client.call('adminDeleteUser', { params: { id: 'user_x' } })).status).toBe(401)
    expect(codeOf(await (await newUser()).client.call('adminDeleteUser', { params: { id: 'user_x' } }))).toBe(
      'ROLE_DENIED',
    )
  })

  it('has an e-mail address that nobody else has', async () => {
    const user = await newUser({ email: 'one@example.com' })
    const another = { phone: '+12025557990', name: 'Bob', password: PASSWORD, email: 'ONE@example.com' }
    const taken = await admin.call('adminCreateUser', { body: another })
    expect(taken).toMatchObject({ status: 409, json: { error: { param: '/email' } } })
    const bad = await admin.call('adminCreateUser', { body: { ...another, email: 'nobody' } })
    expect(bad).toMatchObject({ status: 400, json: { error: { param: '/email' } } })
    const { json } = await admin.expect('adminUpdateUser', 200, { params: { id: user.id }, body: { email: null } })
    expect(json['email']).toBeNull()
    await admin.expect('adminCreateUser', 201, { body: another })
    const back = await admin.call('adminUpdateUser', { params: { id: user.id }, body: { email: 'one@example.com' } })
    expect(back).toMatchObject({ status: 409, json: { error: { param: '/email' } } })
  })
})
