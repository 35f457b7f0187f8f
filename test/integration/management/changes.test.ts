import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { OperationName } from '../../../src/shared/api/operations/index.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'
import type { ManagementAnswer, Sent } from '../../support/management-client.ts'

const PASSWORD = 'correct horse battery'

let gateway: TestGateway
let admin: ManagementClient
let user: ManagementClient
let userId: string
let enterpriseId: string

beforeAll(async () => {
  gateway = await startGateway()
  admin = await ManagementClient.ofAdmin(gateway)
  const account = { phone: '+12025554321', name: 'Ada', password: PASSWORD }
  userId = String((await admin.expect('adminCreateUser', 201, { body: account })).json['id'])
  user = new ManagementClient(gateway.url)
  await user.login(account.phone, PASSWORD)
  enterpriseId = String((await admin.expect('adminCreateEnterprise', 201, { body: { name: 'Acme' } })).json['id'])
})

afterAll(async () => {
  await gateway.stop()
})

async function newAdmin(): Promise<ManagementClient> {
  const account = { phone: '+12025554399', name: 'Grace', password: PASSWORD, role: 'admin' }
  await admin.expect('adminCreateUser', 201, { body: account })
  const client = new ManagementClient(gateway.url)
  await client.login(account.phone, PASSWORD)
  return client
}

const named = (key: string): NonNullable<Sent['headers']> => ({ 'idempotency-key': key })
const codeOf = ({ json }: ManagementAnswer): string => (json['error'] as { code: string }).code
const countOf = async (name: OperationName, sent: Sent = {}): Promise<number> =>
  Number((await admin.expect(name, 200, sent)).json['total'])

describe('a creation with an Idempotency-Key', () => {
  it('is done once, and answers the same again, secrets included', async () => {
    const sent = { body: { name: 'mine' }, headers: named(randomUUID()) }
    const first = await user.expect('createKey', 201, sent)
    expect(first.headers.get('idempotent-replayed')).toBeNull()
    for (let time = 0; time < 3; time++) {
      const again = await user.expect('createKey', 201, sent)
      expect(again.text).toBe(first.text)
      expect(again.headers.get('idempotent-replayed')).toBe('true')
      expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'))
      expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'))
    }
    expect((await user.expect('listKeys', 200)).json['total']).toBe(1)
  })

  it('is another one for another body, another caller, another operation and another path', async () => {
    const headers = named(randomUUID())
    const params = { id: enterpriseId }
    await user.expect('createKey', 201, { body: { name: 'mine' }, headers })
    const other = await user.expect('createKey', 409, { body: { name: 'yours' }, headers })
    expect(codeOf(other)).toBe('IDEMPOTENCY_MISMATCH')
    const adminKey = await admin.expect('createKey', 201, { body: { name: 'mine' }, headers })
    expect(adminKey.headers.get('idempotent-replayed')).toBeNull()
    const made = await admin.expect('createEnterpriseKey', 201, { params, body: { name: 'mine' }, headers })
    expect(made.headers.get('idempotent-replayed')).toBeNull()
    const elsewhere = String((await admin.expect('adminCreateEnterprise', 201, { body: { name: 'B' } })).json['id'])
    const there = await admin.expect('createEnterpriseKey', 201, {
      params: { id: elsewhere },
      body: { name: 'mine' },
      headers,
    })
    expect(there.headers.get('idempotent-replayed')).toBeNull()
  })

  it('is done once, however many come at the same time', async () => {
    const before = await countOf('adminListEnterprises')
    const sent = { body: { name: 'Once' }, headers: named(randomUUID()) }
    const answers = await Promise.all(Array.from({ length: 12 }, () => admin.call('adminCreateEnterprise', sent)))
    const made = answers.filter(({ status }) => status === 201)
    const running = answers.filter(({ status }) => status === 409)
    expect(made.length).toBeGreaterThan(0)
    expect(made.length + running.length).toBe(12)
    expect(new Set(made.map(({ text }) => text)).size).toBe(1)
    for (const answer of running) {
      expect(codeOf(answer)).toBe('IDEMPOTENCY_RUNNING')
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    expect(await countOf('adminListEnterprises')).toBe(before + 1)
  })

  it('may be tried again after it failed', async () => {
    const headers = named(randomUUID())
    const params = { id: enterpriseId }
    const bad = { name: 'mine', department_id: 'dep_x' }
    await admin.expect('createEnterpriseKey', 400, { params, body: bad, headers })
    const made = await admin.expect('createEnterpriseKey', 201, { params, body: { name: 'mine' }, headers })
    expect(made.headers.get('idempotent-replayed')).toBeNull()
  })

  it.each(['', 'a b', 'x'.repeat(256)])('takes no key that is none: %j', async (key) => {
    const answer = await user.call('createKey', { body: { name: 'mine' }, headers: named(key) })
    // An empty header may be lost on the way.
    if (key === '' && answer.status === 201) return
    expect([answer.status, codeOf(answer)]).toEqual([400, 'INVALID_HEADER'])
    expect(JSON.stringify(answer.json)).toContain('Idempotency-Key')
  })

  it('tops a wallet up once, by its key and by its reference', async () => {
    const params = { id: enterpriseId }
    const topUp = (reference: string, key?: string, status = 200): Promise<ManagementAnswer> =>
      admin.expect('topUpWallet', status, {
        params,
        body: { amount: 1_000_000, currency: 'USD', reference },
        ...(key === undefined ? {} : { headers: named(key) }),
      })
    const key = randomUUID()
    const first = await topUp('p1', key)
    expect(first.json['balance']).toBe(1_000_000)
    await topUp('p2')
    expect((await topUp('p1', key)).text).toBe(first.text)
    await topUp('p3', key, 409)
    expect((await topUp('p2')).json['balance']).toBe(2_000_000)
  })

  it('books a reference once under two keys, and two references under the same key of two users', async () => {
    const otherAdmin = await newAdmin()
    const params = { id: enterpriseId }
    const balance = async (): Promise<number> =>
      Number((await admin.expect('getWallet', 200, { params })).json['balance'])
    const topUp = (by: ManagementClient, reference: string, key: string): Promise<ManagementAnswer> =>
      by.expect('topUpWallet', 200, {
        params,
        body: { amount: 1_000_000, currency: 'USD', reference },
        headers: named(key),
      })
    const before = await balance()
    await topUp(admin, 'invoice 1', randomUUID())
    await topUp(admin, 'invoice 1', randomUUID())
    expect(await balance()).toBe(before + 1_000_000)
    const key = randomUUID()
    await topUp(admin, 'invoice 2', key)
    await topUp(otherAdmin, 'invoice 3', key)
    expect(await balance()).toBe(before + 3_000_000)
    for (const by of [admin, otherAdmin]) {
      await by.expect('adminAdjustWallet', 200, {
        params,
        body: { kind: 'adjustment', amount: -1_000_000, reference: 'invoice 1 was wrong' },
        headers: named(randomUUID()),
      })
    }
    expect(await balance()).toBe(before + 2_000_000)
  })
})

describe('an ETag', () => {
  const params = (): { id: string } => ({ id: enterpriseId })
  const tagOf = ({ headers }: ManagementAnswer): string => {
    const tag = headers.get('etag')
    expect(tag).toMatch(/^"[\w-]{27}(?:[.][\w-]{10})?"$/)
    return String(tag)
  }

  it('is that of what is shown, and of what a change made of it', async () => {
    const shown = await admin.expect('getEnterprise', 200, { params: params() })
    const tag = tagOf(shown)
    expect(tagOf(await admin.expect('adminGetEnterprise', 200, { params: params() }))).toBe(tag)
    const changed = await admin.expect('updateEnterprise', 200, { params: params(), body: { name: 'New' } })
    expect(tagOf(changed)).not.toBe(tag)
    expect(tagOf(await admin.expect('getEnterprise', 200, { params: params() }))).toBe(tagOf(changed))
    expect((await admin.expect('adminListEnterprises', 200)).headers.get('etag')).toBeNull()
  })

  it('saves who has it the body', async () => {
    const tag = tagOf(await admin.expect('getEnterprise', 200, { params: params() }))
    for (const known of [tag, `W/${tag}`, `"x", ${tag}`, '*']) {
      const answer = await admin.call('getEnterprise', { params: params(), headers: { 'if-none-match': known } })
      expect([known, answer.status, answer.text, answer.headers.get('etag')]).toEqual([known, 304, '', tag])
    }
    await admin.expect('getEnterprise', 200, { params: params(), headers: { 'if-none-match': '"x"' } })
  })

  it('keeps who names an older one from changing or deleting anything', async () => {
    const { json } = await user.expect('createKey', 201, { body: { name: 'one' } })
    const key = { params: { id: String(json['id']) } }
    const old = tagOf(await user.expect('getKey', 200, key))
    const changed = await user.expect('updateKey', 200, { ...key, body: { name: 'two' }, headers: { 'if-match': old } })
    for (const stale of [old, `W/${tagOf(changed)}`, '"x"']) {
      const headers = { 'if-match': stale }
      expect(codeOf(await user.expect('updateKey', 412, { ...key, body: { name: 'three' }, headers }))).toBe(
        'PRECONDITION_FAILED',
      )
      await user.expect('toggleKey', 412, { ...key, body: {}, headers })
      await user.expect('deleteKey', 412, { ...key, headers })
    }
    expect((await user.expect('getKey', 200, key)).json['name']).toBe('two')
    const headers = { 'if-match': `"x", ${tagOf(changed)}` }
    const off = await user.expect('toggleKey', 200, { ...key, body: {}, headers })
    await user.expect('deleteKey', 204, { ...key, headers: { 'if-match': tagOf(off) } })
    await user.expect('deleteKey', 404, { ...key, headers: { 'if-match': tagOf(off) } })
  })

  it('lets one of many win that name the same one at the same time', async () => {
    for (let round = 0; round < 5; round++) {
      const tag = tagOf(await admin.expect('getEnterprise', 200, { params: params() }))
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          admin.call(index % 2 === 0 ? 'updateEnterprise' : 'adminUpdateEnterprise', {
            params: params(),
            body: { name: `round ${round} of ${index}` },
            headers: { 'if-match': tag },
          }),
        ),
      )
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 7 }, () => 412)])
    }
  })
})

describe('the audit log', () => {
  const entries = async (query: Record<string, string>): Promise<Array<Record<string, unknown>>> =>
    (await admin.expect('adminAudit', 200, { query })).json['data'] as Array<Record<string, unknown>>

  it('tells who changed what, without secrets', async () => {
    const account = { phone: '+12025554322', name: 'Bob', password: 'a password of his' }
    const made = await admin.expect('adminCreateUser', 201, { body: account })
    const target = String(made.json['id'])
    expect(await entries({ target })).toEqual([
      expect.objectContaining({
        operation: 'adminCreateUser',
        role: 'admin',
        outcome: 'done',
        target_id: target,
        sent: { ...account, password: '[hidden]', role: 'user' },
        request_id: made.headers.get('x-request-id'),
      }),
    ])
    const bob = new ManagementClient(gateway.url)
    await bob.login(account.phone, account.password)
    const changed = await bob.expect('changePassword', 200, {
      body: { old_password: account.password, new_password: 'another one of his' },
    })
    bob.token = String(changed.json['token'])
    const all = await admin.expect('adminAudit', 200, { query: { user_id: target } })
    expect(all.text).toContain('changePassword')
    for (const secret of [account.password, 'another one of his']) expect(all.text).not.toContain(secret)
  })

  it('has what was done in an enterprise, and nothing of what failed', async () => {
    const params = { id: enterpriseId }
    const invited = await admin.expect('invite', 201, { params, body: { email: 'a@example.com', role: 'employee' } })
    await admin.expect('createDepartment', 400, { params, body: { name: 'A', parent_id: 'dep_x' } })
    const [entry] = await entries({ enterprise_id: enterpriseId, operation: 'invite' })
    expect(entry).toMatchObject({
      target_id: invited.json['id'],
      path: `/v1/enterprise/${enterpriseId}/members/invite`,
    })
    expect(await entries({ enterprise_id: enterpriseId, operation: 'createDepartment' })).toEqual([])
  })

  it('has refused changes and failed attempts to log in', async () => {
    await user.expect('adminCreateEnterprise', 403, { body: { name: 'Mine' } })
    expect(await entries({ user_id: userId, operation: 'adminCreateEnterprise' })).toEqual([
      expect.objectContaining({ outcome: 'refused', error_code: 'ROLE_DENIED', role: 'user' }),
    ])
    const guess = { phone: '+12025554321', password: 'a wrong guess' }
    await user.expect('login', 401, { body: guess, token: null })
    const [login] = await entries({ operation: 'login' })
    expect(login).toMatchObject({ user_id: null, outcome: 'refused', error_code: 'LOGIN_FAILED' })
    expect(login?.['sent']).toEqual({ phone: guess.phone, password: '[hidden]' })
  })

  it('tells alone what admins changed of the platform, also when others were refused it', async () => {
    const all = await entries({ limit: '100' })
    const platform = await entries({ limit: '100', access: 'platform-admin' })
    expect(platform).toEqual(all.filter(({ operation }) => String(operation).startsWith('admin')))
    expect(platform.length).toBeLessThan(all.length)
    expect(new Set(platform.map(({ outcome }) => outcome))).toEqual(new Set(['done', 'refused']))
    await admin.expect('adminAudit', 400, { query: { access: 'everyone' } })
  })

  it('is read page by page, and of a time alone', async () => {
    const all = await entries({ limit: '100' })
    const paged: unknown[] = []
    let cursor: string | null = null
    do {
      const query: Record<string, string> = { limit: '3', ...(cursor === null ? {} : { cursor }) }
      const { json } = await admin.expect('adminAudit', 200, { query })
      paged.push(...(json['data'] as unknown[]))
      cursor = json['next_cursor'] as string | null
    } while (cursor !== null)
    expect(paged).toEqual(all)
    const middle = String(all[3]?.['time'])
    const since = await entries({ limit: '100', from: middle })
    const until = await entries({ limit: '100', to: middle })
    expect([...since, ...until]).toEqual(all)
    expect(until.length).toBeGreaterThan(0)
    await admin.expect('adminAudit', 400, { query: { cursor: 'x' } })
    await user.expect('adminAudit', 403)
  })
})
