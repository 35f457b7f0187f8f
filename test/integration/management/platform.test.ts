import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'

const PASSWORD = 'correct horse battery'

let gateway: TestGateway
let admin: ManagementClient

beforeAll(async () => {
  gateway = await startGateway()
  admin = await ManagementClient.ofAdmin(gateway)
})

afterAll(async () => {
  await gateway.stop()
})

async function newUser(phone: string): Promise<ManagementClient> {
  await admin.expect('adminCreateUser', 201, { body: { phone, name: 'Ada', password: PASSWORD } })
  const client = new ManagementClient(gateway.url)
  await client.login(phone, PASSWORD)
  return client
}

async function newEnterprise(name: string): Promise<string> {
  return String((await admin.expect('adminCreateEnterprise', 201, { body: { name } })).json['id'])
}

const codeOf = ({ json }: { json: Record<string, unknown> }): unknown => (json['error'] as { code?: unknown }).code

describe('the enterprises of the platform', () => {
  it('are listed by pages, the newest first, found by name, and shown one by one', async () => {
    const ids: string[] = []
    for (const name of ['Northwind One', 'Northwind Two', 'Northwind Three']) ids.unshift(await newEnterprise(name))
    const idsOf = ({ json }: { json: Record<string, unknown> }): string[] =>
      (json['data'] as Array<{ id: string }>).map(({ id }) => id)
    const query = { search: 'northWIND', limit: '2' }
    const first = await admin.expect('adminListEnterprises', 200, { query })
    expect(first.json).toMatchObject({ page: 1, limit: 2, total: 3, has_more: true })
    const second = await admin.expect('adminListEnterprises', 200, { query: { ...query, page: '2' } })
    expect(second.json).toMatchObject({ page: 2, total: 3, has_more: false })
    expect([...idsOf(first), ...idsOf(second)]).toEqual(ids)
    const one = await admin.expect('adminGetEnterprise', 200, { params: { id: ids[0] ?? '' } })
    expect(one.json).toMatchObject({ name: 'Northwind Three', status: 'active' })
    for (const name of ['adminGetEnterprise', 'adminUpdateEnterprise'] as const) {
      const missing = { params: { id: 'ent_x' }, ...(name === 'adminGetEnterprise' ? {} : { body: {} }) }
      expect(codeOf(await admin.call(name, missing))).toBe('NOT_FOUND')
    }
  })

  it('turn away whom they do not want, who may ask again', async () => {
    const id = await newEnterprise('Acme')
    const asker = await newUser('+12025556001')
    const ask = async (): Promise<string> =>
      String((await asker.expect('askToJoin', 201, { params: { id }, body: {} })).json['id'])
    const requestId = await ask()
    const rejected = await admin.expect('rejectJoinRequest', 200, { params: { id, requestId } })
    expect(rejected.json).toMatchObject({ id: requestId, status: 'rejected' })
    expect(codeOf(await asker.call('getEnterprise', { params: { id } }))).toBe('NOT_FOUND')
    for (const name of ['approveJoinRequest', 'rejectJoinRequest'] as const) {
      expect(codeOf(await admin.call(name, { params: { id, requestId } }))).toBe('CONFLICT')
      expect((await admin.call(name, { params: { id, requestId: 'join_x' } })).status).toBe(404)
    }
    expect(await ask()).not.toBe(requestId)
  })

  it('show their keys one by one, without the secret', async () => {
    const id = await newEnterprise('Acme')
    const made = await admin.expect('createEnterpriseKey', 201, { params: { id }, body: { name: 'a', rpm: 5 } })
    const keyId = String(made.json['id'])
    const shown = await admin.expect('getEnterpriseKey', 200, { params: { id, keyId } })
    expect(shown.json).toMatchObject({ id: keyId, name: 'a', rpm: 5, enabled: true })
    expect(shown.text).not.toContain(String(made.json['key']))
    expect(shown.json).not.toHaveProperty('key')
    expect(codeOf(await admin.call('getEnterpriseKey', { params: { id, keyId: 'key_x' } }))).toBe('NOT_FOUND')
  })
})

describe('the system', () => {
  it('tells its version and the settings that decide what people may do, and no secret', async () => {
    const { json } = await admin.expect('adminGetSystem', 200)
    expect(json).toMatchObject({
      node_version: process.versions.node,
      currency: 'USD',
      registration: expect.stringMatching(/^(open|closed)$/) as string,
      log_retention_days: 90,
    })
    expect(Date.parse(String(json['started_at']))).toBeLessThanOrEqual(Date.now())
  })

  it('tells each setting with its source, what admins stored, and no secret', async () => {
    const settings = async (): Promise<ReadonlyMap<string, Record<string, unknown>>> => {
      const { json } = await admin.expect('adminGetSystem', 200)
      const list = json['settings'] as Array<Record<string, unknown>>
      return new Map(list.map((one) => [String(one['name']), one]))
    }
    const before = await settings()
    expect(before.get('log.retention_days')).toEqual({
      name: 'log.retention_days',
      value: 90,
      is_secret: false,
      is_set: true,
      entries: null,
      stored_entries: null,
      source: 'default',
      variable: null,
    })
    expect(before.get('wallet.payment_secret')).toMatchObject({ value: null, is_secret: true, is_set: false })
    const stored = Number(before.get('model_groups')?.['stored_entries'])
    await admin.expect('adminPutModelGroup', 200, { params: { id: 'counted' }, body: { models: ['sim-gpt'] } })
    expect((await settings()).get('model_groups')).toMatchObject({
      entries: 0,
      stored_entries: stored + 1,
      source: 'stored',
    })
  })
})

describe('the journal', () => {
  it('tells how far behind the database is, and of no record that was lost', async () => {
    const state = await admin.expect('adminJournal', 200)
    expect(state.json).toMatchObject({ status: 'ok', dead_letters: 0 })
    const letters = await admin.expect('adminDeadLetters', 200)
    expect(letters.json).toMatchObject({ data: [], has_more: false, next_cursor: null })
    const bad = await admin.call('adminDeadLetters', { query: { cursor: 'x' } })
    expect(bad).toMatchObject({ status: 400, json: { error: { param: '/cursor' } } })
  })
})
