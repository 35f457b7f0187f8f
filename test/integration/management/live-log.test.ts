import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { itLater } from '../../support/dose.ts'
import { eventually } from '../../support/eventually.ts'
import { startGateway } from '../../support/gateway.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { LiveStream } from '../../support/live-streams.ts'
import type { LiveEntry, LiveOptions } from '../../support/live-streams.ts'
import { ManagementClient } from '../../support/management-client.ts'
import { killChild } from '../../support/nemesis.ts'

const PASSWORD = 'correct horse battery'
const PATIENCE = { timeoutMs: 40_000 }

let simulator: Simulator
let gateway: TestGateway
let admin: ManagementClient
let owner: ManagementClient
let ownerKey: string
let params: { readonly id: string }
let enterpriseKey: string
const open: LiveStream[] = []

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({
    upstreams: [
      { id: 'up', dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] },
      { id: 'limited', dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['n'] },
    ],
  })
  admin = await ManagementClient.ofAdmin(gateway)
  owner = await newUser('+12025558001')
  ownerKey = String((await owner.expect('createKey', 201, { body: { name: 'own' } })).json['key'])
  const body = { name: 'Acme', owner_phone: '+12025558001' }
  params = { id: String((await admin.expect('adminCreateEnterprise', 201, { body })).json['id']) }
  const key = await owner.expect('createEnterpriseKey', 201, { params, body: { name: 'theirs' } })
  enterpriseKey = String(key.json['key'])
}, 120_000)

afterAll(async () => {
  for (const one of open) one.leave()
  await gateway.stop()
  await simulator.close()
})

async function newUser(phone: string): Promise<ManagementClient> {
  await admin.expect('adminCreateUser', 201, { body: { phone, name: phone, password: PASSWORD } })
  const client = new ManagementClient(gateway.url)
  await client.login(phone, PASSWORD)
  return client
}

async function stream(
  client: ManagementClient,
  name: 'streamLogs' | 'streamEnterpriseLogs' | 'adminLive',
  query: Record<string, string> = {},
  options: LiveOptions = {},
): Promise<LiveStream> {
  const opened = await LiveStream.of(gateway.url, client, name, { id: params.id, query, ...options })
  open.push(opened)
  return opened
}

async function chat(key: string, team: string): Promise<string> {
  const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-sluice-tag-team': team },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] }),
  })
  expect(answer.status, await answer.text()).toBe(200)
  return answer.headers.get('x-request-id') ?? ''
}

describe('a live stream', () => {
  it('has new requests under its filters, as the list has them, and those of nobody else', async () => {
    const before = await chat(enterpriseKey, 'red')
    await eventually(async () => {
      await owner.expect('getEnterpriseLog', 200, { params: { ...params, logId: before } })
    }, PATIENCE)
    const streams = {
      own: await stream(owner, 'streamLogs'),
      all: await stream(owner, 'streamEnterpriseLogs'),
      red: await stream(owner, 'streamEnterpriseLogs', { tag: 'team:red' }),
      platform: await stream(admin, 'adminLive', { status: '200' }),
    }
    const own = await chat(ownerKey, 'red')
    const red = await chat(enterpriseKey, 'red')
    const blue = await chat(enterpriseKey, 'blue')
    const expected = { own: [own], all: [red, blue], red: [red], platform: [own, red, blue] }
    await eventually(() => {
      for (const [name, one] of Object.entries(streams)) {
        const ids = one.entries.map(({ id }) => id).sort()
        expect([name, ids]).toEqual([name, [...expected[name as keyof typeof expected]].sort()])
      }
      expect(streams.platform.named('now').length).toBeGreaterThan(1)
    }, PATIENCE)
    const shown = await owner.expect('getEnterpriseLog', 200, { params: { ...params, logId: red } })
    expect(streams.red.entries).toEqual([shown.json])
    const detail = await admin.expect('adminListLogs', 200, { query: { request_id: red } })
    expect(streams.platform.entries.find(({ id }) => id === red)).toEqual((detail.json['data'] as LiveEntry[])[0])
    expect(streams.platform.named('now').at(-1)?.data).toMatchObject({ fronts: 1, waiting: 0 })
    for (const one of Object.values(streams)) {
      expect(one.headers.get('content-type')).toBe('text/event-stream')
      expect(one.headers.get('x-accel-buffering')).toBe('no')
      expect(one.events[0]).toMatchObject({ event: 'ready', data: { resumed: false } })
      one.leave()
    }
  })

  it('is for those who may list, with the filters of the list', async () => {
    const employee = await newUser('+12025558002')
    const body = { phone: '+12025558002', role: 'employee' }
    const invited = await owner.expect('invite', 201, { params, body })
    await employee.expect('acceptInvitation', 200, { body: { token: invited.json['token'] } })
    const refusals = [
      [await stream(employee, 'streamEnterpriseLogs'), 403],
      [await stream(employee, 'streamEnterpriseLogs', {}, { id: 'ent_x' }), 404],
      [await stream(owner, 'adminLive'), 403],
      [await stream(owner, 'streamEnterpriseLogs', { provider_id: 'up' }), 400],
      [await stream(owner, 'streamLogs', { tag: 'red' }), 400],
      [await stream(new ManagementClient(gateway.url, 'x'), 'streamLogs'), 401],
    ] as const
    for (const [one, status] of refusals) expect([await one.text, one.status]).toEqual([expect.anything(), status])
  })

  itLater('ends with its session, with the role, and with the membership', async () => {
    const cases: ReadonlyArray<
      readonly [string, (client: ManagementClient, memberId: string) => Promise<unknown>, string]
    > = [
      ['+12025558003', (client) => client.expect('logout', 204), 'TOKEN_INVALID'],
      [
        '+12025558004',
        (_, memberId) =>
          owner.expect('updateMember', 200, { params: { ...params, memberId }, body: { role: 'employee' } }),
        'ROLE_DENIED',
      ],
      [
        '+12025558005',
        (_, memberId) => owner.expect('removeMember', 204, { params: { ...params, memberId } }),
        'NOT_FOUND',
      ],
    ]
    for (const [phone, stop, code] of cases) {
      const client = await newUser(phone)
      const invited = await owner.expect('invite', 201, { params, body: { phone, role: 'admin' } })
      await client.expect('acceptInvitation', 200, { body: { token: invited.json['token'] } })
      const { json } = await owner.expect('listMembers', 200, { params })
      const members = json['data'] as Array<{ id: string; user: { phone: string } }>
      const watched = await stream(client, 'streamEnterpriseLogs')
      expect(watched.status).toBe(200)
      await stop(client, members.find(({ user }) => user.phone === phone)?.id ?? '')
      await eventually(() => {
        expect([watched.isOver, watched.named('end')[0]?.data.code]).toEqual([true, code])
      }, PATIENCE)
    }
  })

  itLater('has the requests of an issued key as long as the membership is active', async () => {
    const employee = await newUser('+12025558007')
    const body = { phone: '+12025558007', role: 'employee' }
    const invited = await owner.expect('invite', 201, { params, body })
    await employee.expect('acceptInvitation', 200, { body: { token: invited.json['token'] } })
    const { json } = await owner.expect('listMembers', 200, { params })
    const members = json['data'] as Array<{ id: string; user: { phone: string } }>
    const memberId = members.find(({ user }) => user.phone === body.phone)?.id ?? ''
    const issued = await owner.expect('createEnterpriseKey', 201, {
      params,
      body: { name: 'hers', member_id: memberId },
    })
    const key = String(issued.json['key'])
    const watched = await stream(employee, 'streamLogs')
    const shown = await chat(key, 'hers')
    await eventually(() => {
      expect(watched.entries.map(({ id }) => id)).toEqual([shown])
    }, PATIENCE)
    await owner.expect('removeMember', 204, { params: { ...params, memberId } })
    await owner.expect('toggleEnterpriseKey', 200, { params: { ...params, keyId: String(issued.json['id']) } })
    const all = await stream(owner, 'streamEnterpriseLogs')
    await eventually(() => {
      expect(all.events).not.toEqual([])
    })
    const own = String((await employee.expect('createKey', 201, { body: { name: 'own' } })).json['key'])
    const hidden = await eventually(() => chat(key, 'hers'), PATIENCE)
    const last = await eventually(() => chat(own, 'own'), PATIENCE)
    await eventually(() => {
      expect(all.entries.map(({ id }) => id)).toContain(hidden)
      expect(watched.entries.map(({ id }) => id)).toEqual([shown, last])
    }, PATIENCE)
    watched.leave()
    all.leave()
  })

  it('goes on after the last event that a client has, with the rights of that client', async () => {
    const watched = await stream(owner, 'streamEnterpriseLogs')
    const others = await stream(admin, 'adminLive')
    const first = await chat(enterpriseKey, 'before')
    await eventually(() => {
      expect(watched.entries.map(({ id }) => id)).toEqual([first])
      expect(others.entries.map(({ id }) => id)).toEqual([first])
    }, PATIENCE)
    watched.leave()
    others.leave()
    const meanwhile = [await chat(enterpriseKey, 'meanwhile'), await chat(enterpriseKey, 'meanwhile')]
    const own = await chat(ownerKey, 'meanwhile')
    await eventually(async () => {
      for (const id of [...meanwhile, own]) await admin.expect('adminGetLog', 200, { params: { id } })
    }, PATIENCE)
    const again = await stream(owner, 'streamEnterpriseLogs', {}, { lastEventId: watched.lastEventId })
    const foreign = await stream(owner, 'streamLogs', {}, { lastEventId: others.lastEventId })
    const unknown = await stream(owner, 'streamEnterpriseLogs', {}, { lastEventId: `${'0'.repeat(16)}-1` })
    const last = await chat(enterpriseKey, 'last')
    await eventually(() => {
      expect(again.entries.map(({ id }) => id).sort()).toEqual([...meanwhile, last].sort())
      expect(unknown.entries.map(({ id }) => id)).toContain(last)
    }, PATIENCE)
    expect(unknown.entries.map(({ id }) => id)).not.toContain(first)
    expect(foreign.entries.map(({ id }) => id)).toEqual([own])
    for (const [one, resumed] of [
      [again, true],
      [foreign, true],
      [unknown, false],
    ] as const) {
      expect(one.events[0]).toMatchObject({ event: 'ready', data: { resumed } })
      one.leave()
    }
  })

  it('tells platform admins the states of upstream keys, first all and then the changed ones', async () => {
    const watched = await stream(admin, 'adminLive')
    const states = (): unknown[] => watched.named('upstreams').flatMap(({ data }) => data.data ?? [])
    const state = { slots_used: 0, cooling_seconds: 0, state: 'ok' }
    await eventually(() => {
      expect(watched.named('upstreams')[0]?.data.data).toEqual([
        expect.objectContaining({ ...state, provider_id: 'limited' }),
        expect.objectContaining({ ...state, provider_id: 'up' }),
      ])
    }, PATIENCE)
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ownerKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'n',
        messages: [{ role: 'user', content: '[[sim {"status":429,"retryAfter":30}]]' }],
      }),
    })
    expect(answer.status, await answer.text()).toBeGreaterThanOrEqual(429)
    await eventually(() => {
      expect(states()).toContainEqual(expect.objectContaining({ provider_id: 'limited', state: 'cooling' }))
    }, PATIENCE)
    expect(states().filter((one) => (one as { provider_id: string }).provider_id === 'up')).toHaveLength(1)
    watched.leave()
  })

  itLater('says from time to time that it is alive', async () => {
    const watched = await stream(owner, 'streamLogs')
    await eventually(() => {
      expect([watched.comments, watched.isOver]).toEqual([1, false])
    }, PATIENCE)
    watched.leave()
  })

  it('is one of four of a user', async () => {
    const client = await newUser('+12025558006')
    const four = await Promise.all([1, 2, 3, 4].map(() => stream(client, 'streamLogs')))
    expect(four.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    const fifth = await stream(client, 'streamLogs')
    expect([fifth.status, await fifth.text]).toEqual([429, expect.stringContaining('close one of them')])
    four[0]?.leave()
    await eventually(async () => {
      const again = await stream(client, 'streamLogs')
      expect(again.status).toBe(200)
    }, PATIENCE)
    for (const one of open) one.leave()
  })

  itLater('has at most four events a second and fifty requests in each, and counts the others', async () => {
    const watched = await stream(owner, 'streamEnterpriseLogs')
    const requests = 300
    const lanes = Array.from({ length: 10 }, async () => {
      for (let turn = 0; turn < requests / 10; turn++) await chat(enterpriseKey, 'many')
    })
    await Promise.all(lanes)
    await eventually(() => {
      expect(watched.entries.length + watched.omitted).toBe(requests)
    }, PATIENCE)
    for (const { data } of watched.named('requests')) expect(data.data?.length).toBeLessThanOrEqual(50)
    const times = watched.named('requests').map(({ atMs }) => atMs)
    expect(times.length).toBeLessThanOrEqual(1 + Math.ceil(((times.at(-1) ?? 0) - (times[0] ?? 0)) / 250))
    watched.leave()
  })

  itLater('is lost with the control process, and the next one says that rows may be missing', async () => {
    const lost = await stream(owner, 'streamEnterpriseLogs')
    await eventually(() => {
      expect(lost.lastEventId).not.toBe('')
    }, PATIENCE)
    await killChild(gateway, 'control', gateway.children().find(({ kind }) => kind === 'control')?.pid ?? 0)
    await eventually(() => {
      expect(lost.isOver).toBe(true)
    }, PATIENCE)
    const again = await eventually(async () => {
      const opened = await stream(owner, 'streamEnterpriseLogs', {}, { lastEventId: lost.lastEventId })
      expect(opened.status).toBe(200)
      return opened
    }, PATIENCE)
    const id = await chat(enterpriseKey, 'after')
    await eventually(() => {
      expect(again.entries.map((entry) => entry.id)).toContain(id)
    }, PATIENCE)
    expect(again.events[0]).toMatchObject({ event: 'ready', data: { resumed: false } })
    again.leave()
  })

  it('does not hold up the end of the gateway', async () => {
    const watched = await stream(owner, 'streamLogs')
    expect(watched.status).toBe(200)
    const beganMs = Date.now()
    await gateway.stop()
    await watched.text
    // Far below the time that a drain may take.
    expect(Date.now() - beganMs).toBeLessThan(20_000)
    expect(gateway.output).not.toContain('met an error')
  })
})
