import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { OperationName } from '../../../src/shared/api/operations/index.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { eventually } from '../../support/eventually.ts'
import { startGateway } from '../../support/gateway.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'

const PASSWORD = 'correct horse battery'
const PATIENCE = { timeoutMs: 40_000 }

interface Row {
  readonly id: string
  readonly endpoint: string
  readonly cost: number
  readonly tags: Record<string, string> | null
}

interface Sums {
  readonly requests: number
  readonly cost: number
  readonly completion_tokens: number
}

interface Usage {
  readonly time_zone: string
  readonly totals: Sums
  readonly groups: ReadonlyArray<Sums & { readonly group: string | null; readonly others: boolean }>
  readonly series: ReadonlyArray<
    Sums & { readonly time: string; readonly group: string | null; readonly others: boolean }
  >
}

interface Person {
  readonly phone: string
  readonly client: ManagementClient
  readonly userId: string
  memberId: string
  key: string
  keyId: string
}

const DAY_MS = 86_400_000

let simulator: Simulator
let gateway: TestGateway
let admin: ManagementClient
let owner: Person
let ada: Person
let bob: Person
let departmentId: string
/** The enterprise in its own calls. */
let params: { readonly id: string }
let foreign: { readonly id: string }
let charged = 0

beforeAll(async () => {
  simulator = await startSimulator()
  const upstream = (id: string, models: readonly string[]) => ({
    id,
    dialect: 'openai-chat' as const,
    baseUrl: `${simulator.origin}/v1`,
    models,
    keys: [{ id: `${id}-1`, credential: `credential-${id}` }],
  })
  gateway = await startGateway({
    upstreams: [upstream('up', ['m', 'sim-embed']), upstream('other', ['n'])],
    config: {
      models: ['m', 'n', 'sim-embed'].map((id) => ({ id, prices: { input: 1_000_000, output: 1_000_000 } })),
      log: { retention_days: 20 },
    },
  })
  admin = await ManagementClient.ofAdmin(gateway)
  owner = await newPerson('+12025557001')
  ada = await newPerson('+12025557002')
  bob = await newPerson('+12025557003')
  const body = { name: 'Acme', owner_phone: '+12025557001', time_zone: 'Asia/Kolkata' }
  params = { id: String((await admin.expect('adminCreateEnterprise', 201, { body })).json['id']) }
  foreign = { id: String((await admin.expect('adminCreateEnterprise', 201, { body: { name: 'Else' } })).json['id']) }
  const department = await owner.client.expect('createDepartment', 201, { params, body: { name: 'Research' } })
  departmentId = String(department.json['id'])
  await join(ada, 'research', { department_id: departmentId })
  await join(bob, 'sales', {})

  await chat(ada.key, { model: 'm', user: 'end-1', metadata: { team: 'red', feature: 'search' } })
  await chat(
    ada.key,
    { model: 'm', metadata: { team: 'blue' } },
    { 'x-sluice-tag-team': 'red', 'X-Sluice-Tag-Env': 'ci' },
  )
  await post('/v1/responses', ada.key, { model: 'n', input: 'hi', user: 'end-2', metadata: { team: 'blue' } })
  await post('/v1/messages', bob.key, {
    model: 'n',
    max_tokens: 5,
    messages: [{ role: 'user', content: 'hi' }],
    metadata: { user_id: 'x'.repeat(100) },
  })
  await post(
    '/v1/embeddings',
    bob.key,
    { model: 'sim-embed', input: 'hi', user: 'not a tag' },
    { 'x-sluice-tag-team': 'red' },
  )
  await chat(bob.key, { model: 'm', stream: true })
  await chat(bob.key, { model: 'nothing' }, {}, 404)
  const { json } = await ada.client.expect('createKey', 201, { body: { name: 'own' } })
  await chat(String(json['key']), { model: 'm', metadata: { team: 'own' } })

  await eventually(async () => {
    expect((await usage(admin, 'adminUsage', { group_by: 'model' })).totals.requests).toBe(8)
  }, PATIENCE)
  charged = Number((await owner.client.expect('getWallet', 200, { params })).json['charged'])
  expect(charged).toBeGreaterThan(0)
}, 120_000)

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

async function newPerson(phone: string): Promise<Person> {
  const { json } = await admin.expect('adminCreateUser', 201, { body: { phone, name: phone, password: PASSWORD } })
  const client = new ManagementClient(gateway.url)
  await client.login(phone, PASSWORD)
  return { phone, client, userId: String(json['id']), memberId: '', key: '', keyId: '' }
}

/** Makes somebody an employee, with a key of the enterprise. */
async function join(person: Person, name: string, member: object): Promise<void> {
  const body = { phone: person.phone, role: 'employee', ...member }
  const invited = await owner.client.expect('invite', 201, { params, body })
  await person.client.expect('acceptInvitation', 200, { body: { token: invited.json['token'] } })
  const { json } = await owner.client.expect('listMembers', 200, { params })
  const members = json['data'] as Array<{ id: string; user: { id: string } }>
  person.memberId = members.find(({ user }) => user.id === person.userId)?.id ?? ''
  const key = await owner.client.expect('createEnterpriseKey', 201, {
    params,
    body: { name, member_id: person.memberId, ...member },
  })
  person.key = String(key.json['key'])
  person.keyId = String(key.json['id'])
}

async function post(path: string, key: string, body: object, headers: object = {}, status = 200): Promise<void> {
  const answer = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
      ...headers,
    },
    body: JSON.stringify(body),
  })
  expect(answer.status, await answer.text()).toBe(status)
}

function chat(key: string, body: object, headers: object = {}, status = 200): Promise<void> {
  const messages = [{ role: 'user', content: 'hi [[sim {"tokens":7}]]' }]
  return post('/v1/chat/completions', key, { max_tokens: 9, messages, ...body }, headers, status)
}

type Query = Readonly<Record<string, string | readonly string[]>>

async function usage(client: ManagementClient, name: OperationName, query: Query): Promise<Usage> {
  return (await client.expect(name, 200, { params, query })).json as unknown as Usage
}

async function rows(client: ManagementClient, name: OperationName, query: Query = {}): Promise<Row[]> {
  return (await client.expect(name, 200, { params, query })).json['data'] as Row[]
}

const costOf = (sums: readonly Sums[]): number => sums.reduce((total, { cost }) => total + cost, 0)

describe('tags', () => {
  it('are metadata, user, metadata.user_id and headers; headers come first', async () => {
    const all = await rows(admin, 'adminListLogs')
    expect(all.map(({ endpoint, tags }) => [endpoint, tags]).reverse()).toEqual([
      ['chat.completions', { user: 'end-1', team: 'red', feature: 'search' }],
      ['chat.completions', { team: 'red', env: 'ci' }],
      ['responses', { user: 'end-2', team: 'blue' }],
      ['messages', { user_id: 'x'.repeat(64) }],
      ['embeddings', { team: 'red' }],
      ['chat.completions', null],
      ['chat.completions', null],
      ['chat.completions', { team: 'own' }],
    ])
  })

  it('are filtered by, all of those that are sent', async () => {
    const count = async (tag: string | readonly string[]): Promise<number> =>
      (await rows(admin, 'adminListLogs', { tag })).length
    expect(await count('team:red')).toBe(3)
    expect(await count(['team:red', 'env:ci'])).toBe(1)
    expect(await count(['team:red', 'team:blue'])).toBe(0)
    expect(await count('team:r')).toBe(0)
    expect(await count('TEAM:red')).toBe(0)
    for (const tag of ['team', ':red', 'team:', Array.from({ length: 9 }, () => 'a:b')]) {
      const { status, json } = await admin.call('adminListLogs', { query: { tag } })
      expect([tag, status, json['error']]).toEqual([
        tag,
        400,
        expect.objectContaining({ code: 'INVALID_FIELD', param: expect.stringMatching(/^\/tag/) as string }),
      ])
    }
  })

  it('never refuse a request, whatever they are', async () => {
    const metadata = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`n${index}`, { a: [index] }]))
    const headers = Object.fromEntries(
      Array.from({ length: 12 }, (_, index) => [`x-sluice-tag-h${index}`, `v${index}`]),
    )
    await chat(gateway.apiKey, { model: 'm', metadata: { ...metadata, ['__proto__']: 'a', 'nul\0': 'b\0' } })
    await chat(gateway.apiKey, { model: 'm', metadata: { team: 'late' } }, headers)
    await eventually(async () => {
      const [many, hostile] = await rows(admin, 'adminListLogs', { endpoint: 'chat.completions', limit: '2' })
      expect(many?.tags).toEqual(
        Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`h${index}`, `v${index}`])),
      )
      expect(hostile?.tags).toEqual({ ['__proto__']: 'a', 'nul\uFFFD': 'b\uFFFD' })
    }, PATIENCE)
  })
})

describe('the log of an enterprise', () => {
  it.each<[string, () => Query, number]>([
    ['department', () => ({ department_id: departmentId }), 3],
    ['member', () => ({ member_id: bob.memberId }), 4],
    ['user', () => ({ user_id: ada.userId }), 3],
    ['key', () => ({ key_id: bob.keyId }), 4],
    ['model', () => ({ model: 'n' }), 2],
    ['endpoint', () => ({ endpoint: 'embeddings' }), 1],
    ['status', () => ({ status: '404' }), 1],
    ['interrupted requests', () => ({ status: '0' }), 0],
    ['tag and member', () => ({ tag: 'team:red', member_id: bob.memberId }), 1],
    ['a user of no rows', () => ({ user_id: owner.userId }), 0],
  ])('filters by %s, in the list, in the file and in the sums', async (_, of, count) => {
    const query = of()
    expect(await rows(owner.client, 'enterpriseLogs', query)).toHaveLength(count)
    const file = await owner.client.expect('exportEnterpriseLogs', 200, {
      params,
      query: { ...query, format: 'ndjson' },
    })
    expect(file.text.split('\n').filter((line) => line !== '')).toHaveLength(count)
    expect((await usage(owner.client, 'enterpriseUsage', query)).totals.requests).toBe(count)
  })

  it('shows one request, and has a file with tags', async () => {
    const [row] = await rows(owner.client, 'enterpriseLogs', { tag: 'user:end-1' })
    const logId = row?.id ?? ''
    const { json } = await owner.client.expect('getEnterpriseLog', 200, { params: { ...params, logId } })
    expect(json).toEqual(row)
    expect(json).not.toHaveProperty('upstream_key_id')
    const file = await owner.client.expect('exportEnterpriseLogs', 200, { params, query: { tag: 'user:end-1' } })
    expect(file.headers.get('content-type')).toContain('text/csv')
    expect(file.text).toContain('"{""team"":""red"",""user"":""end-1"",""feature"":""search""}"')
  })

  it('is not that of another enterprise, nor of an employee', async () => {
    const [row] = await rows(owner.client, 'enterpriseLogs')
    const logId = row?.id ?? ''
    const stranger = await admin.call('getEnterpriseLog', { params: { ...foreign, logId } })
    expect(stranger).toMatchObject({ status: 404, json: { error: { code: 'NOT_FOUND' } } })
    for (const name of ['getEnterpriseLog', 'exportEnterpriseLogs', 'enterpriseLogs'] as const) {
      const outside = await owner.client.call(name, { params: { ...foreign, logId } })
      expect([name, outside.status]).toEqual([name, 404])
      const employee = await ada.client.call(name, { params: { ...params, logId } })
      expect([name, employee.status]).toEqual([name, 403])
    }
    for (const query of [{ provider_id: 'up' }, { upstream_key_id: 'up-1' }, { enterprise_id: foreign.id }]) {
      const { status } = await owner.client.call('enterpriseLogs', { params, query })
      expect([query, status]).toEqual([query, 400])
    }
  })
})

describe('the log of a user', () => {
  it('has the requests of own keys and of keys that were issued, in pages', async () => {
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const query: Query = { limit: '2', ...(cursor === null ? {} : { cursor }) }
      const { json } = await ada.client.expect('listLogs', 200, { query })
      seen.push(...(json['data'] as Row[]).map(({ id }) => id))
      cursor = json['next_cursor'] as string | null
      if (seen.length === 2) expect(json['total']).toBe(4)
    } while (cursor !== null)
    expect(seen).toHaveLength(4)
    expect(new Set(seen)).toEqual(new Set((await rows(ada.client, 'listLogs')).map(({ id }) => id)))
    const second = await ada.client.expect('listLogs', 200, { query: { limit: '2', page: '2' } })
    expect((second.json['data'] as Row[]).map(({ id }) => id)).toEqual(seen.slice(2))
    expect(await rows(ada.client, 'listLogs', { enterprise_id: params.id })).toHaveLength(3)
    expect(await rows(admin, 'adminListLogs', { user_id: ada.userId })).toHaveLength(4)
    const [issued] = await rows(ada.client, 'listLogs', { enterprise_id: params.id })
    await ada.client.expect('getLog', 200, { params: { id: issued?.id ?? '' } })
    expect((await bob.client.call('getLog', { params: { id: issued?.id ?? '' } })).status).toBe(404)
    const own = await usage(ada.client, 'usage', { group_by: 'enterprise' })
    expect(own.groups.map(({ group, requests }) => [group, requests])).toEqual([
      [params.id, 3],
      ['', 1],
    ])
  })

  it('ends with the membership', async () => {
    const carl = await newPerson('+12025557004')
    await join(carl, 'carl', {})
    await chat(carl.key, { model: 'm', max_tokens: 1, metadata: { team: 'carl' } })
    await eventually(async () => {
      expect(await rows(carl.client, 'listLogs')).toHaveLength(1)
    }, PATIENCE)
    const memberId = carl.memberId
    await owner.client.expect('updateMember', 200, { params: { ...params, memberId }, body: { status: 'disabled' } })
    expect(await rows(carl.client, 'listLogs')).toHaveLength(0)
    expect((await usage(carl.client, 'usage', {})).totals.requests).toBe(0)
    await owner.client.expect('removeMember', 204, { params: { ...params, memberId } })
    charged = Number((await owner.client.expect('getWallet', 200, { params })).json['charged'])
  })
})

describe('statistics of an enterprise', () => {
  it.each([
    ...['model', 'endpoint', 'status', 'key', 'user', 'member', 'department', 'enterprise'],
    ...['tag:team', 'tag:user', 'tag:none'],
  ])('by %s add up to what the ledger has, in any granularity and time zone', async (group) => {
    for (const granularity of ['hour', 'day', 'week', 'month']) {
      for (const zone of [{}, { time_zone: 'UTC' }, { time_zone: 'America/St_Johns' }]) {
        const query = { group_by: group, granularity, ...zone }
        const { totals, groups, series } = await usage(owner.client, 'enterpriseUsage', query)
        expect([query, totals.cost, totals.requests]).toEqual([query, charged, 8])
        expect([query, costOf(groups), costOf(series)]).toEqual([query, charged, charged])
      }
    }
  })

  it('name their groups', async () => {
    const groupsBy = async (group: string): Promise<Record<string, number>> => {
      const { groups } = await usage(owner.client, 'enterpriseUsage', { group_by: group })
      return Object.fromEntries(groups.map((one) => [one.group, one.requests]))
    }
    expect(await groupsBy('tag:team')).toEqual({ red: 3, blue: 1, carl: 1, '': 3 })
    expect(await groupsBy('member')).toMatchObject({ [ada.memberId]: 3, [bob.memberId]: 4 })
    expect(await groupsBy('user')).toEqual({ [ada.userId]: 3, [bob.userId]: 4, '': 1 })
    expect(await groupsBy('department')).toEqual({ [departmentId]: 3, '': 5 })
    expect(await groupsBy('model')).toEqual({ m: 4, n: 2, 'sim-embed': 1, '': 1 })
    expect(await groupsBy('enterprise')).toEqual({ [params.id]: 8 })
  })

  it('add up the groups beyond the limit', async () => {
    const { groups, series, totals } = await usage(owner.client, 'enterpriseUsage', { group_by: 'key', limit: '1' })
    expect(groups.map(({ group, others, requests }) => [group, others, requests])).toEqual([
      [bob.keyId, false, 4],
      [null, true, 4],
    ])
    expect(costOf(series)).toBe(totals.cost)
  })

  it('have the days of the time zone', async () => {
    const { series, time_zone } = await usage(owner.client, 'enterpriseUsage', { period: '24h' })
    expect(time_zone).toBe('Asia/Kolkata')
    for (const { time } of series) expect(time).toMatch(/T18:30:00\.000Z$/)
    const chosen = await usage(owner.client, 'enterpriseUsage', { period: '24h', time_zone: 'Asia/Kathmandu' })
    for (const { time } of chosen.series) expect(time).toMatch(/T18:15:00\.000Z$/)
    const weeks = await usage(owner.client, 'enterpriseUsage', { granularity: 'week' })
    // The Monday begins on Sunday in UTC.
    for (const { time } of weeks.series) expect(new Date(time).getUTCDay()).toBe(0)
  })

  it('refuse unknown time zones, groups of the platform, and long periods of the log, by name', async () => {
    const cases: ReadonlyArray<readonly [Query, string, RegExp]> = [
      [{ time_zone: 'Europe/Berlni' }, '/time_zone', /"Europe\/Berlni".*like Europe\/Berlin/],
      [{ group_by: 'provider' }, '/group_by', /must look like model or .* or tag:team/],
      [{ group_by: 'tag:' }, '/group_by', /must look like/],
      [{ group_by: 'tag:team', period: '21d' }, '/period', /at most 20d/],
      [{ tag: 'team:red', period: '600h' }, '/period', /read the request log/],
      [{ granularity: 'year' }, '/granularity', /one of hour, day, week, month/],
      [{ limit: '1001' }, '/limit', /at most 1000/],
      [{ provider_id: 'up' }, '/provider_id', /no field/],
    ]
    for (const [query, param, message] of cases) {
      const { status, json } = await owner.client.call('enterpriseUsage', { params, query })
      expect([query, status, json['error']]).toEqual([
        query,
        400,
        expect.objectContaining({ param, message: expect.stringMatching(message) as string }),
      ])
    }
    await owner.client.expect('enterpriseUsage', 200, { params, query: { group_by: 'tag:team', period: '20d' } })
  })
})

describe('statistics of the platform', () => {
  it.each([
    ['hours', () => ({})],
    // Today is a whole day of a range that ends after it.
    ['days', () => ({ to: new Date((Math.floor(Date.now() / DAY_MS) + 2) * DAY_MS).toISOString() })],
  ])('are the same from sums by %s and from rows, for every group', async (_by, rangeOf) => {
    const range = rangeOf()
    const all = await usage(admin, 'adminUsage', { ...range, group_by: 'tag:team' })
    const groups = ['model', 'endpoint', 'status', 'key', 'user', 'member', 'department', 'enterprise']
    for (const group of [...groups, 'provider', 'upstream_key', 'tag:team']) {
      const { totals, groups: sums } = await usage(admin, 'adminUsage', { ...range, group_by: group })
      expect([group, totals, costOf(sums)]).toEqual([group, all.totals, all.totals.cost])
      const ofOne = { ...range, group_by: group, enterprise_id: params.id }
      for (const zone of [{}, { time_zone: 'Asia/Tokyo' }, { granularity: 'month' }]) {
        const { totals: ofEnterprise } = await usage(admin, 'adminUsage', { ...ofOne, ...zone })
        expect([group, zone, ofEnterprise.cost]).toEqual([group, zone, charged])
      }
    }
    for (const filter of [
      { key_id: ada.keyId },
      { user_id: ada.userId },
      { department_id: departmentId, status: '200' },
    ]) {
      const [fromSums, fromRows] = await Promise.all(
        ['key', 'tag:none'].map(async (group) => {
          const { totals } = await usage(admin, 'adminUsage', { ...range, ...filter, group_by: group })
          return totals
        }),
      )
      expect([filter, fromSums]).toEqual([filter, fromRows])
      expect(fromRows?.requests).toBeGreaterThan(0)
    }
  })

  it('combine upstreams with members, keys and tags', async () => {
    const filters: Query[] = [{ key_id: ada.keyId }, { member_id: ada.memberId }, { department_id: departmentId }]
    for (const filter of filters) {
      const { groups } = await usage(admin, 'adminUsage', { ...filter, group_by: 'provider' })
      expect(groups.map(({ group, requests }) => [group, requests])).toEqual([
        ['up', 2],
        ['other', 1],
      ])
    }
    const { groups } = await usage(admin, 'adminUsage', { upstream_key_id: 'up-1', group_by: 'member' })
    expect(groups.find(({ group }) => group === ada.memberId)?.requests).toBe(2)
    const tagged = await usage(admin, 'adminUsage', { provider_id: 'other', group_by: 'tag:team', model: 'n' })
    expect(tagged.totals.requests).toBe(2)
    expect(await rows(admin, 'adminListLogs', { provider_id: 'other', upstream_key_id: 'other-1' })).toHaveLength(2)
    expect((await usage(admin, 'adminUsage', { user_id: ada.userId, group_by: 'model' })).totals.requests).toBe(4)
  })

  it('have a file of all requests', async () => {
    const { text } = await admin.expect('adminExportLogs', 200, {
      query: { enterprise_id: params.id, format: 'ndjson' },
    })
    const lines = text.split('\n').filter((line) => line !== '')
    expect(lines).toHaveLength(8)
    expect(lines.map((line) => (JSON.parse(line) as { provider_id: string | null }).provider_id)).toContain('other')
  })

  it('show a dashboard in a time zone', async () => {
    const { json } = await admin.expect('adminDashboard', 200, { query: { time_zone: 'Asia/Kolkata' } })
    for (const { time } of json['series'] as Array<{ time: string }>) expect(time).toMatch(/T18:30:00\.000Z$/)
    const bad = await admin.call('adminDashboard', { query: { time_zone: 'x' } })
    expect(bad).toMatchObject({ status: 400, json: { error: { param: '/time_zone' } } })
  })
})
