import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'

let simulator: Simulator
let gateway: TestGateway
let admin: ManagementClient
let user: ManagementClient

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m', 'n'] }],
  })
  admin = await ManagementClient.ofAdmin(gateway)
  const account = { phone: '+12025551234', name: 'Ada', password: 'correct horse battery' }
  await admin.expect('adminCreateUser', 201, { body: account })
  user = new ManagementClient(gateway.url)
  await user.login(account.phone, account.password)
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

async function chat(key: string, model = 'm'): Promise<Response> {
  return fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }] }),
  })
}

/** Changes reach the fronts within a second. */
const statusBecomes = (key: string, status: number, model?: string): Promise<void> =>
  eventually(async () => {
    expect((await chat(key, model)).status).toBe(status)
  })

async function newKey(more: object = {}): Promise<{ id: string; key: string }> {
  const { json } = await user.expect('createKey', 201, { body: { name: 'mine', ...more } })
  return { id: String(json['id']), key: String(json['key']) }
}

const REFUSALS = [
  ['KEY_DISABLED', { enabled: false }],
  ['KEY_EXPIRED', { enabled: true, expires_at: '2020-01-01T00:00:00Z' }],
  ['ADDRESS_DENIED', { expires_at: null, ip_allow: ['10.0.0.0/8'] }],
  ['CLIENT_DENIED', { ip_allow: null, client_allow: ['somebody-else/'] }],
  ['MODEL_DENIED', { client_allow: null, models: ['n'] }],
] as const

it("shows every refusal of a known key in its owner's request log", { timeout: 60_000 }, async () => {
  const { id, key } = await newKey()
  const refused: Array<{ id: string; code: string }> = []
  for (const [code, change] of REFUSALS) {
    const { enabled, ...fields } = { enabled: undefined, ...change }
    if (enabled !== undefined) await user.expect('toggleKey', 200, { params: { id }, body: { enabled } })
    if (Object.keys(fields).length > 0) await user.expect('updateKey', 200, { params: { id }, body: fields })
    const requestId = await eventually(async () => {
      const answer = await chat(key)
      expect(await answer.json()).toMatchObject({ error: { code } })
      return answer.headers.get('x-request-id') ?? ''
    })
    refused.push({ id: requestId, code })
  }
  for (const { id: requestId, code } of refused) {
    await eventually(async () => {
      const { json } = await user.expect('listLogs', 200, { query: { request_id: requestId } })
      expect(json['data']).toMatchObject([{ id: requestId, key_id: id, error_code: code }])
    })
  }
})

it('shows a refusal of the key of an enterprise in the log of the enterprise', async () => {
  const { json: enterprise } = await admin.expect('adminCreateEnterprise', 201, { body: { name: 'Refused' } })
  const params = { id: String(enterprise['id']) }
  const made = await admin.expect('createEnterpriseKey', 201, {
    params,
    body: { name: 'expired', monthly_budget: 1_000_000 },
  })
  const expired = {
    params: { ...params, keyId: String(made.json['id']) },
    body: { expires_at: '2020-01-01T00:00:00Z' },
  }
  await admin.expect('updateEnterpriseKey', 200, expired)
  await statusBecomes(String(made.json['key']), 401)
  await eventually(async () => {
    const { json } = await admin.expect('enterpriseLogs', 200, { params })
    const [latest] = json['data'] as unknown[]
    expect(latest).toMatchObject({ key_id: made.json['id'], error_code: 'KEY_EXPIRED', status: 401 })
  })
})

describe("a user's key", () => {
  it('works once it is made, is told once, and is listed masked', async () => {
    const { id, key } = await newKey()
    await statusBecomes(key, 200)
    const listed = await user.expect('listKeys', 200)
    expect(listed.text).not.toContain(key)
    expect(listed.json['data']).toContainEqual(
      expect.objectContaining({ id, enabled: true, key_masked: `${key.slice(0, 7)}…${key.slice(-4)}` }),
    )
    const one = await user.expect('getKey', 200, { params: { id } })
    expect(one.json).not.toHaveProperty('key')
  })

  it('stops when it is turned off, and goes on when it is turned on', async () => {
    const { id, key } = await newKey()
    await statusBecomes(key, 200)
    const off = await user.expect('toggleKey', 200, { params: { id }, body: {} })
    expect(off.json['enabled']).toBe(false)
    await statusBecomes(key, 401)
    await user.expect('toggleKey', 200, { params: { id }, body: { enabled: true } })
    await statusBecomes(key, 200)
  })

  it('takes limits, models and a time to end, and loses them again', async () => {
    const { id, key } = await newKey({ models: ['n'], rpm: 500 })
    await statusBecomes(key, 200, 'n')
    expect((await chat(key, 'm')).status).toBe(403)
    const changed = await user.expect('updateKey', 200, { params: { id }, body: { models: null, name: 'ours' } })
    expect(changed.json).toMatchObject({ name: 'ours', models: null, rpm: 500 })
    await statusBecomes(key, 200, 'm')
    await user.expect('updateKey', 200, { params: { id }, body: { expires_at: '2020-01-01T00:00:00Z' } })
    await statusBecomes(key, 401)
  })

  it('takes a change without a body as one of nothing, and refuses a body that is no object', async () => {
    const { id } = await newKey()
    const headers = { authorization: `Bearer ${user.token ?? ''}`, 'content-type': 'application/json' }
    const put = (body?: string): Promise<Response> =>
      fetch(`${gateway.url}/api/keys/${id}`, { method: 'PUT', headers, ...(body === undefined ? {} : { body }) })
    expect((await put()).status).toBe(200)
    for (const body of ['null', '[]', '"name"', '7']) {
      const answer = await put(body)
      expect([body, answer.status]).toEqual([body, 400])
      expect(await answer.json()).toMatchObject({ error: { code: 'INVALID_FIELD' } })
    }
  })

  it('gets a new secret, and goes on under the old one for as long as is said', async () => {
    const { id, key } = await newKey()
    await statusBecomes(key, 200)
    const rotated = await user.expect('rotateKey', 200, { params: { id }, body: {} })
    const fresh = String(rotated.json['key'])
    await statusBecomes(fresh, 200)
    expect((await chat(key)).status).toBe(200)
    const again = await user.expect('rotateKey', 200, { params: { id }, body: { grace_seconds: 0 } })
    await statusBecomes(String(again.json['key']), 200)
    await statusBecomes(fresh, 401)
    expect((await chat(key)).status).toBe(200)
  })

  it('is gone for good when it is deleted', async () => {
    const { id, key } = await newKey()
    await statusBecomes(key, 200)
    await user.expect('deleteKey', 204, { params: { id } })
    await statusBecomes(key, 401)
    for (const name of ['getKey', 'deleteKey', 'toggleKey', 'rotateKey'] as const) {
      await user.expect(name, 404, {
        params: { id },
        ...(name.endsWith('eKey') && name !== 'deleteKey' ? { body: {} } : {}),
      })
    }
  })

  it('is nothing that another user could see or touch', async () => {
    const { id, key } = await newKey()
    await statusBecomes(key, 200)
    for (const name of ['getKey', 'updateKey', 'deleteKey', 'toggleKey', 'rotateKey'] as const) {
      const foreign = await admin.call(name, {
        params: { id },
        ...(name === 'getKey' || name === 'deleteKey' ? {} : { body: {} }),
      })
      const missing = await admin.call(name, {
        params: { id: 'key_x' },
        ...(name === 'getKey' || name === 'deleteKey' ? {} : { body: {} }),
      })
      const told = ({ status, json }: typeof foreign): unknown => [
        status,
        { ...(json['error'] as object), request_id: '' },
      ]
      expect(told(foreign)).toEqual(told(missing))
      expect(foreign.status).toBe(404)
    }
    expect((await chat(key)).status).toBe(200)
  })

  it.each([
    [{}, '/name'],
    [{ name: '' }, '/name'],
    [{ name: 'a', rpm: -1 }, '/rpm'],
    [{ name: 'a', rpm: '5' }, '/rpm'],
    [{ name: 'a', ip_allow: ['10.0.0.0/99'] }, '/ip_allow/0'],
    [{ name: 'a', expires_at: 'soon' }, '/expires_at'],
    [{ name: 'a', user_id: 'user_x' }, '/user_id'],
  ])('is made from nothing else than what is asked for: %j', async (body, param) => {
    const answer = await user.call('createKey', { body })
    expect(answer).toMatchObject({ status: 400, json: { error: { code: 'INVALID_FIELD', param } } })
  })
})

describe("a user's requests", () => {
  it('are in the log, the export and the statistics of that user alone', async () => {
    const { id, key } = await newKey()
    await statusBecomes(key, 200)
    const rows = await eventually(async () => {
      const { json } = await user.expect('listLogs', 200, { query: { key_id: id, status: '200' } })
      const data = json['data'] as Array<Record<string, unknown>>
      expect(data).toHaveLength(1)
      return data
    })
    const requestId = String(rows[0]?.['id'])
    expect(rows[0]).not.toHaveProperty('upstream_key_id')
    await user.expect('getLog', 200, { params: { id: requestId } })
    await admin.expect('getLog', 404, { params: { id: requestId } })
    const detail = await admin.expect('adminGetLog', 200, { params: { id: requestId } })
    expect(detail.json['attempts']).toHaveLength(1)

    const csv = await user.expect('exportLogs', 200, { query: { key_id: id } })
    const [head, ...lines] = csv.text.trimEnd().split('\n')
    expect(head).toMatch(/^id,time,user_id,/)
    expect(lines.some((line) => line.startsWith(`${requestId},`))).toBe(true)
    const ndjson = await user.expect('exportLogs', 200, { query: { format: 'ndjson' } })
    const ids = ndjson.text
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { id: string }).id)
    expect(ids).toContain(requestId)

    const usage = await user.expect('usage', 200, { query: { period: '24h', granularity: 'hour', group_by: 'key' } })
    expect(usage.json['series']).toContainEqual(expect.objectContaining({ group: id }))
    const everyone = await admin.expect('adminUsage', 200, { query: { group_by: 'model' } })
    expect(everyone.json['series']).toContainEqual(expect.objectContaining({ group: 'm' }))
    const others = await admin.expect('usage', 200)
    expect(others.json['totals']).toMatchObject({ requests: 0, mean_total_ms: null })
  })
})

it('gives a key of an enterprise a new secret, beside the old one for the grace period', async () => {
  const enterprise = async () => ({
    id: String((await admin.expect('adminCreateEnterprise', 201, { body: { name: 'Acme' } })).json['id']),
  })
  const params = await enterprise()
  const made = await admin.expect('createEnterpriseKey', 201, { params, body: { name: 'k', monthly_budget: 1_000 } })
  const [keyId, first] = [String(made.json['id']), String(made.json['key'])]
  const rotate = (body: object, of = params) => admin.call('rotateEnterpriseKey', { params: { ...of, keyId }, body })
  const rotated = await rotate({})
  expect(rotated).toMatchObject({ status: 200, json: { id: keyId, monthly_budget: 1_000 } })
  const second = String(rotated.json['key'])
  await statusBecomes(second, 200)
  await statusBecomes(first, 200)
  const third = String((await rotate({ grace_seconds: 0 })).json['key'])
  await statusBecomes(third, 200)
  await statusBecomes(second, 401)
  expect((await rotate({}, await enterprise())).status).toBe(404)
})

it.each([
  [{ name: '   ' }, 'name must not be blank.'],
  [{ name: '' }, 'name must not be empty.'],
  [{ name: 'k', expires_at: '2020-01-01T00:00:00Z' }, 'expires_at must be in the future.'],
  [{ name: 'k', expires_at: 'tomorrow' }, 'expires_at must be a time like 2027-01-31T00:00:00Z.'],
  [{ name: 'k', expire_at: null }, 'This operation has no field of this name; did you mean "expires_at"?'],
  [{ name: 'k', ip_allow: Array.from({ length: 1_001 }, () => '::1') }, 'ip_allow must have at most 1000 entries.'],
])('refuses a key that makes no sense, and says what is allowed (%#)', async (body, message) => {
  const { json } = await user.expect('createKey', 400, { body })
  expect((json['error'] as { message: string }).message).toBe(message)
})

describe('a list of keys', () => {
  it('is searched, filtered and sorted, and shows the last use and the end of the grace period', async () => {
    const other = await otherUser('+12025551299')
    const make = async (name: string): Promise<{ id: string; key: string; masked: string }> => {
      const { json } = await other.expect('createKey', 201, { body: { name } })
      expect(json).toMatchObject({ last_used_at: null, old_key_until: null })
      return { id: String(json['id']), key: String(json['key']), masked: String(json['key_masked']) }
    }
    const first = await make('Zebra 100%')
    const second = await make('apple')
    const third = await make('Mango')
    const names = async (query: Record<string, string>): Promise<unknown[]> => {
      const { json } = await other.expect('listKeys', 200, { query })
      return (json['data'] as Array<{ name: string }>).map(({ name }) => name)
    }
    expect(await names({})).toEqual(['Mango', 'apple', 'Zebra 100%'])
    expect(await names({ sort: 'name' })).toEqual(['apple', 'Mango', 'Zebra 100%'])
    expect(await names({ search: '0%' })).toEqual(['Zebra 100%'])
    expect(await names({ search: '%' })).toEqual(['Zebra 100%'])
    expect(await names({ search: second.masked.slice(-4) })).toEqual(['apple'])
    await other.expect('toggleKey', 200, { params: { id: third.id }, body: { enabled: false } })
    expect(await names({ enabled: 'false' })).toEqual(['Mango'])
    expect(await names({ enabled: 'true', limit: '1' })).toEqual(['apple'])
    expect(await other.call('listKeys', { query: { sort: 'cost' } })).toMatchObject({
      status: 400,
      json: { error: { param: '/sort' } },
    })

    const before = await other.expect('getKey', 200, { params: { id: first.id } })
    await statusBecomes(first.key, 200)
    const used = await eventually(async () => {
      const answer = await other.expect('getKey', 200, { params: { id: first.id } })
      expect(Date.parse(String(answer.json['last_used_at']))).toBeGreaterThan(Date.now() - 120_000)
      return answer
    })
    expect(await names({ sort: 'last_used' })).toEqual(['Zebra 100%', 'Mango', 'apple'])
    // Its use is no change of the key: what somebody was editing meanwhile is not in conflict with it.
    expect(used.headers.get('etag')).not.toBe(before.headers.get('etag'))
    const ifMatch = { 'if-match': before.headers.get('etag') ?? '' }
    await other.expect('updateKey', 200, { params: { id: first.id }, body: { name: 'Zebra' }, headers: ifMatch })
    const { json } = await other.expect('rotateKey', 200, { params: { id: first.id }, body: { grace_seconds: 3_600 } })
    expect(Date.parse(String(json['old_key_until']))).toBeGreaterThan(Date.now() + 3_500_000)
  })
})

async function otherUser(phone: string): Promise<ManagementClient> {
  const account = { phone, name: 'Grace', password: 'correct horse battery' }
  await admin.expect('adminCreateUser', 201, { body: account })
  const client = new ManagementClient(gateway.url)
  await client.login(account.phone, account.password)
  return client
}
