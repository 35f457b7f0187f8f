import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'

const TOKENS = 20
const SERVED = 6
/** Those of a gateway from its start, and the two that are made here. */
const KEYS = 4
const PATIENCE = { timeoutMs: 40_000 }

let simulator: Simulator
let gateway: TestGateway
let admin: ManagementClient
let user: ManagementClient
let userId: string
let keyId: string
let enterpriseId: string

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({
    upstreams: [
      {
        id: 'sim',
        dialect: 'openai-chat',
        baseUrl: `${simulator.origin}/v1`,
        models: ['m'],
        keys: [{ id: 'sim-1', credential: 'credential-1' }],
      },
      {
        id: 'unused',
        dialect: 'openai-chat',
        baseUrl: `${simulator.origin}/v1`,
        models: ['n'],
        keys: [{ id: 'unused-1', credential: 'credential-2' }],
      },
    ],
    config: { models: [{ id: 'm', prices: { input: 0, output: 1_000_000 } }] },
  })
  admin = await ManagementClient.ofAdmin(gateway)
  const account = { phone: '+12025554321', name: 'Ada', password: 'correct horse battery' }
  userId = String((await admin.expect('adminCreateUser', 201, { body: account })).json['id'])
  user = new ManagementClient(gateway.url)
  await user.login(account.phone, account.password)
  const own = await user.expect('createKey', 201, { body: { name: 'mine' } })
  keyId = String(own.json['id'])
  enterpriseId = String((await admin.expect('adminCreateEnterprise', 201, { body: { name: 'Acme' } })).json['id'])
  const theirs = await admin.expect('createEnterpriseKey', 201, {
    params: { id: enterpriseId },
    body: { name: 'theirs' },
  })
  for (const key of [String(own.json['key']), String(theirs.json['key'])]) {
    await eventually(async () => {
      expect((await chat(key, 'nothing')).status).toBe(404)
    })
  }
  for (let turn = 0; turn < SERVED; turn++) {
    expect((await chat(String((turn % 2 === 0 ? own : theirs).json['key']), 'm')).status).toBe(200)
  }
  await eventually(async () => {
    const { json } = await admin.expect('adminUsage', 200, { query: { group_by: 'status' } })
    const served = (json['series'] as Array<{ group: string; requests: number }>).filter(({ group }) => group === '200')
    expect(served.reduce((sum, { requests }) => sum + requests, 0)).toBe(SERVED)
  }, PATIENCE)
}, 120_000)

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

function chat(key: string, model: string): Promise<Response> {
  return fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      max_tokens: TOKENS,
      messages: [{ role: 'user', content: `hi [[sim {"tokens":${TOKENS}}]]` }],
    }),
  })
}

describe('the dashboard', () => {
  it.each(['24h', '2d', '30d', '9999d'])('shows totals, series, models, tenants and errors of %s', async (period) => {
    const { json } = await admin.expect('adminDashboard', 200, { query: { period } })
    const totals = json['totals'] as { requests: number; errors: number; cost: number; completion_tokens: number }
    expect(totals).toMatchObject({ cost: SERVED * TOKENS, completion_tokens: SERVED * TOKENS })
    expect(totals.requests - totals.errors).toBe(SERVED)
    expect(totals.errors).toBeGreaterThanOrEqual(2)
    expect(json['granularity']).toBe(period === '24h' || period === '2d' ? 'hour' : 'day')
    const summed = (rows: unknown): number =>
      (rows as Array<{ requests: number }>).reduce((sum, row) => sum + row.requests, 0)
    for (const part of ['series', 'models', 'tenants'])
      expect([part, summed(json[part])]).toEqual([part, totals.requests])
    expect(summed(json['errors'])).toBe(totals.errors)
    expect(json['errors']).toContainEqual(expect.objectContaining({ status: 404 }))
    expect(json['models']).toContainEqual(expect.objectContaining({ model: 'm', requests: SERVED }))
    expect(json['tenants']).toContainEqual(
      expect.objectContaining({ enterprise_id: enterpriseId, name: 'Acme', cost: (SERVED / 2) * TOKENS }),
    )
    expect(json['tenants']).toContainEqual(expect.objectContaining({ enterprise_id: null, name: null }))
    expect(json['active']).toEqual({ users: 2, enterprises: 1, keys: KEYS })
  })

  it('is of a period', async () => {
    for (const period of ['0d', '7', 'week', '10000h', '1m']) {
      const answer = await admin.call('adminDashboard', { query: { period } })
      expect(answer).toMatchObject({ status: 400, json: { error: { param: '/period' } } })
    }
  })
})

describe('a period that ended before', () => {
  it.each(['hour', 'day', 'month'])('has nothing of what came later, by %s', async (granularity) => {
    const hourAgo = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000 - 3_600_000).toISOString()
    for (const name of ['adminUsage', 'adminLatency'] as const) {
      const { json } = await admin.expect(name, 200, { query: { period: '7d', to: hourAgo, granularity } })
      expect(json).toMatchObject({ to: hourAgo, series: [] })
    }
    const { json } = await admin.expect('adminUsage', 200, {
      query: { period: '24h', to: new Date().toISOString(), granularity },
    })
    expect((json['totals'] as { cost: number }).cost).toBe(SERVED * TOKENS)
  })
})

describe('latency', () => {
  it('has percentiles of requests that reached an upstream, for everyone, an enterprise and a user', async () => {
    const params = { id: enterpriseId }
    const asked = [
      await admin.expect('adminLatency', 200, { query: { granularity: 'hour' } }),
      await admin.expect('adminLatency', 200, { query: { granularity: 'day', model: 'm' } }),
      await admin.expect('enterpriseLatency', 200, { params, query: { granularity: 'hour' } }),
      await user.expect('latency', 200, { query: { key_id: keyId } }),
    ]
    for (const { json } of asked) {
      const { ttft_ms: ttft, total_ms: total } = json as Record<string, Record<'p50' | 'p95' | 'p99', number>>
      expect(ttft?.p50).toBeGreaterThan(0)
      expect(total?.p50).toBeGreaterThan(0)
      expect(total?.p99).toBeGreaterThanOrEqual(total?.p50 ?? Infinity)
      expect((json['series'] as unknown[]).length).toBeGreaterThan(0)
    }
    const none = await user.expect('latency', 200, { query: { model: 'n' } })
    expect(none.json).toMatchObject({ total_ms: { p50: null, p99: null }, series: [] })
  })

  it('is read from the log for a month at most, except that of everyone', async () => {
    const refused = await user.call('latency', { query: { period: '40d' } })
    expect(refused).toMatchObject({ status: 400, json: { error: { param: '/period' } } })
    await admin.expect('adminLatency', 200, { query: { period: '400d' } })
  })
})

describe('statistics of entry keys', () => {
  it.each(['24h', '30d'])('tell what each did in %s, and when it was last used', async (period) => {
    const beganMs = Date.now() - 600_000
    const { json } = await admin.expect('adminKeyStats', 200, { query: { period } })
    expect(json).toMatchObject({ page: 1, total: KEYS, has_more: false })
    const mine = (json['data'] as Array<Record<string, unknown>>).find(({ id }) => id === keyId)
    expect(mine).toMatchObject({
      name: 'mine',
      status: 'enabled',
      user_id: userId,
      completion_tokens: (SERVED / 2) * TOKENS,
      cost: (SERVED / 2) * TOKENS,
    })
    expect(Date.parse(String(mine?.['last_used_at']))).toBeGreaterThan(beganMs)
    expect(Number(mine?.['requests']) - Number(mine?.['errors'])).toBe(SERVED / 2)
    expect(json['data']).toContainEqual(expect.objectContaining({ name: 'test', requests: 0, last_used_at: null }))
  })

  it('are sorted, asked for by owner, and shown by pages', async () => {
    const named = async (query: Record<string, string>): Promise<unknown[]> => {
      const { json } = await admin.expect('adminKeyStats', 200, { query })
      return (json['data'] as Array<{ name: string }>).map(({ name }) => name)
    }
    expect(await named({ user_id: userId })).toEqual(['mine'])
    expect(await named({ enterprise_id: enterpriseId })).toEqual(['theirs'])
    expect(await named({ enterprise_id: 'ent_x' })).toEqual([])
    for (const sort of ['requests', 'errors', 'tokens', 'cost', 'last_used']) {
      expect((await named({ sort })).slice(0, 2).sort()).toEqual(['mine', 'theirs'])
    }
    expect((await named({ sort: 'last_used' }))[0]).toBe('theirs')
    const second = await admin.expect('adminKeyStats', 200, { query: { page: '2', limit: '3' } })
    expect(second.json).toMatchObject({ total: KEYS, has_more: false, data: [{ requests: 0 }] })
    const beyond = await admin.expect('adminKeyStats', 200, { query: { page: '9', limit: '2' } })
    expect(beyond.json).toMatchObject({ total: KEYS, has_more: false, data: [] })
    const bad = await admin.call('adminKeyStats', { query: { sort: 'name' } })
    expect(bad).toMatchObject({ status: 400, json: { error: { param: '/sort' } } })
  })

  it('still tell of a key that is gone', async () => {
    const { json } = await user.expect('createKey', 201, { body: { name: 'gone' } })
    await eventually(async () => {
      expect((await chat(String(json['key']), 'm')).status).toBe(200)
    })
    await user.expect('deleteKey', 204, { params: { id: String(json['id']) } })
    await eventually(async () => {
      const stats = await admin.expect('adminKeyStats', 200, { query: { user_id: userId } })
      expect(stats.json['data']).toContainEqual(expect.objectContaining({ name: 'gone', status: 'deleted', errors: 0 }))
    }, PATIENCE)
  })
})

describe('statistics of the relay', () => {
  it('tell rates, percentiles, and the state of each upstream key', async () => {
    const { json } = await eventually(async () => {
      const answer = await admin.expect('adminRelayStats', 200, { query: { period: '24h' } })
      expect(answer.json['upstream_keys']).toHaveLength(2)
      // What fronts have in use is told from time to time.
      expect(answer.json['upstream_keys']).toContainEqual(
        expect.objectContaining({ upstream_key_id: 'sim-1', slots_used: 0 }),
      )
      return answer
    }, PATIENCE)
    expect(json).toMatchObject({ success_rate: 1, now: { fronts: 1, waiting: 0 } })
    expect(json['requests']).toBeGreaterThanOrEqual(SERVED + 2)
    expect(json['rpm']).toBeGreaterThan(0)
    expect(json['tpm']).toBeGreaterThan(0)
    for (const measure of ['overhead_ms', 'ttft_ms', 'total_ms']) {
      const { p50, p95, p99 } = json[measure] as { p50: number; p95: number; p99: number }
      expect(p50).toBeGreaterThan(0)
      expect(p95).toBeGreaterThanOrEqual(p50)
      expect(p99).toBeGreaterThanOrEqual(p95)
    }
    const [served, unused] = json['upstream_keys'] as Array<Record<string, unknown>>
    expect(served).toMatchObject({
      provider_id: 'sim',
      upstream_key_id: 'sim-1',
      state: 'ok',
      slots_used: 0,
      cooling_seconds: 0,
      errors: 0,
      success_rate: 1,
    })
    expect(served?.['requests']).toBeGreaterThanOrEqual(SERVED)
    expect(unused).toMatchObject({
      upstream_key_id: 'unused-1',
      state: 'ok',
      requests: 0,
      success_rate: null,
      calls: {},
    })
  })

  it('have nothing to tell of a time without requests', async () => {
    const bad = await admin.call('adminRelayStats', { query: { period: 'x' } })
    expect(bad).toMatchObject({ status: 400, json: { error: { param: '/period' } } })
  })
})
