import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { firstCases } from '../../support/dose.ts'
import { eventually } from '../../support/eventually.ts'
import { startGateway } from '../../support/gateway.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'
import { TestRedis } from '../../support/redis.ts'

const PASSWORD = 'correct horse battery'
/** Micro-units; a token of an answer costs one. */
const COST = 5

interface Held {
  readonly held: number
  readonly remaining: number | null
  readonly nearest: { readonly remaining: number; readonly owner: string } | null
}

/** As if all that is held were given back. The nearest budget is that of the wallet. */
function withoutHeld(spends: Readonly<Record<string, unknown>>): unknown {
  const { held } = spends['wallet'] as Held
  expect(held).toBeLessThanOrEqual(8 * COST)
  return Object.fromEntries(
    Object.entries(spends).map(([of, spend]) => {
      const { remaining, nearest, ...rest } = spend as Held
      return [
        of,
        {
          ...rest,
          held: 0,
          remaining: remaining === null ? null : remaining + rest.held,
          nearest: nearest === null ? null : { ...nearest, remaining: nearest.remaining + held },
        },
      ]
    }),
  )
}

describe.each(
  firstCases<readonly [where: string, isShared: boolean]>(1, [
    ['this machine', false],
    ['machines that share Redis', true],
  ]),
)('spend on %s', (_, isShared) => {
  let simulator: Simulator
  let redis: TestRedis | null = null
  let gateway: TestGateway
  let admin: ManagementClient
  let owner: ManagementClient
  let employee: ManagementClient
  let params: { readonly id: string }
  let memberId: string
  let departmentId: string
  let keyId: string
  let key: string

  beforeAll(async () => {
    simulator = await startSimulator()
    if (isShared) redis = await TestRedis.start()
    gateway = await startGateway({
      upstreams: [{ id: 'up', dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
      config: {
        models: [{ id: 'm', prices: { input: 0, output: 1_000_000 } }],
        ...(redis === null ? {} : { redis: { url: redis.url } }),
      },
    })
    admin = await ManagementClient.ofAdmin(gateway)
    owner = await newUser('+12025556001')
    employee = await newUser('+12025556002')
    const body = {
      name: 'Acme',
      owner_phone: '+12025556001',
      time_zone: 'Asia/Tokyo',
      is_prepaid: true,
      monthly_budget: 1_000,
    }
    params = { id: String((await admin.expect('adminCreateEnterprise', 201, { body })).json['id']) }
    await admin.expect('topUpWallet', 200, { params, body: { amount: 60, currency: 'USD', reference: 'one' } })
    const department = { name: 'Research', monthly_budget: 100 }
    departmentId = String((await owner.expect('createDepartment', 201, { params, body: department })).json['id'])
    const invitation = { phone: '+12025556002', role: 'employee', department_id: departmentId }
    const invited = await owner.expect('invite', 201, { params, body: invitation })
    await employee.expect('acceptInvitation', 200, { body: { token: invited.json['token'] } })
    const { json } = await owner.expect('listMembers', 200, { params })
    memberId = (json['data'] as Array<{ id: string; role: string }>).find(({ role }) => role === 'employee')?.id ?? ''
    const made = await owner.expect('createEnterpriseKey', 201, {
      params,
      body: { name: 'k', monthly_budget: 500, department_id: departmentId, member_id: memberId },
    })
    keyId = String(made.json['id'])
    key = String(made.json['key'])
  }, 120_000)

  afterAll(async () => {
    await gateway.stop()
    await simulator.close()
    await redis?.stop()
  })

  async function newUser(phone: string): Promise<ManagementClient> {
    await admin.expect('adminCreateUser', 201, { body: { phone, name: 'Ada', password: PASSWORD } })
    const client = new ManagementClient(gateway.url)
    await client.login(phone, PASSWORD)
    return client
  }

  function ask(behaviour: object, signal?: AbortSignal): Promise<Response> {
    return fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'm',
        max_tokens: COST,
        messages: [{ role: 'user', content: `hi [[sim ${JSON.stringify({ tokens: COST, ...behaviour })}]]` }],
      }),
      ...(signal === undefined ? {} : { signal }),
    })
  }

  const shown = async () => {
    const of = async (name: 'getEnterpriseKey' | 'getMember' | 'getDepartment' | 'getEnterprise' | 'getWallet') =>
      (await owner.expect(name, 200, { params: { ...params, keyId, memberId, departmentId } })).json['spend']
    return {
      key: await of('getEnterpriseKey'),
      member: await of('getMember'),
      department: await of('getDepartment'),
      enterprise: await of('getEnterprise'),
      wallet: await of('getWallet'),
    }
  }

  /** Tokyo's midnight of the first of a month is 15:00 of the day before in UTC. */
  const RESETS = expect.stringMatching(/-(28|29|30|31)T15:00:00[.]000Z$/) as string

  const expectedOf = (spent: number) => {
    const wallet = { owner: 'wallet', id: params.id, remaining: 60 - spent }
    const forecast = spent === 0 ? 0 : (expect.any(Number) as number)
    const monthly = { spent, held: 0, resets_at: RESETS, forecast, nearest: wallet, models: [] }
    const ofWallet = { limit: 60, remaining: 60 - spent, resets_at: null, forecast: null, nearest: null }
    return {
      key: { limit: 500, remaining: 500 - spent, ...monthly },
      member: { limit: null, remaining: null, ...monthly },
      department: { limit: 100, remaining: 100 - spent, ...monthly },
      enterprise: { limit: 1_000, remaining: 1_000 - spent, ...monthly },
      wallet: { ...monthly, ...ofWallet },
    }
  }

  it('shows of every budget what is spent, held and left, as admission counts it', { timeout: 60_000 }, async () => {
    expect(await shown()).toEqual(expectedOf(0))
    for (let n = 0; n < 2; n++) expect((await ask({})).status).toBe(200)
    // Leases go back when they rest; records are settled within a second.
    // With Redis a gateway keeps some, for when it goes away.
    const rested = async (): Promise<unknown> => (isShared ? withoutHeld(await shown()) : await shown())
    await eventually(async () => expect(await rested()).toEqual(expectedOf(2 * COST)), { timeoutMs: 30_000 })

    const leaves = new AbortController()
    const slow = ask({ ttftMs: 60_000 }, leaves.signal).catch(() => null)
    await eventually(async () => {
      const { key: own, wallet } = (await shown()) as Record<string, { held: number; remaining: number }>
      expect(own?.held).toBeGreaterThanOrEqual(COST)
      expect(own?.remaining).toBe(500 - 2 * COST - (own?.held ?? 0))
      expect(wallet?.remaining).toBe(60 - 2 * COST - (wallet?.held ?? 0))
    })
    leaves.abort()
    await slow
  })

  it('shows what the month will have cost at its end', async () => {
    const { wallet, ...others } = (await shown()) as Record<string, { spent: number; forecast: number | null }>
    expect(wallet?.forecast).toBeNull()
    for (const { spent, forecast } of Object.values(others)) {
      expect(spent).toBeGreaterThan(0)
      // All of it was spent today, and at most 31 days follow.
      expect(forecast).toBeGreaterThanOrEqual(spent)
      expect(forecast).toBeLessThanOrEqual(32 * spent)
    }
  })

  it('shows the same in lists, and to employees nothing of it', async () => {
    const lists = [
      [owner, 'listEnterpriseKeys'],
      [owner, 'listMembers'],
      [owner, 'listDepartments'],
    ] as const
    for (const [client, name] of lists) {
      const { json } = await client.expect(name, 200, { params })
      const spends = (json['data'] as Array<{ spend: unknown }>).map(({ spend }) => spend)
      expect(spends, name).not.toContain(null)
    }
    const { json } = await admin.expect('adminListEnterprises', 200)
    expect((json['data'] as Array<{ spend: unknown }>)[0]?.spend).toMatchObject({ limit: 1_000 })
    expect((await employee.expect('getEnterprise', 200, { params })).json['spend']).toBeNull()
    const members = (await employee.expect('listMembers', 200, { params })).json['data'] as Array<{ spend: unknown }>
    expect(members.map(({ spend }) => spend)).toEqual([null, null])
  })

  it('is no change of the thing: If-Match holds while money is spent', async () => {
    const sent = { params: { ...params, keyId } }
    const before = await owner.expect('getEnterpriseKey', 200, sent)
    expect((await ask({})).status).toBe(200)
    await eventually(async () => {
      const { json } = await owner.expect('getEnterpriseKey', 200, sent)
      expect(json['spend']).not.toEqual(before.json['spend'])
    })
    const tag = before.headers.get('etag') ?? ''
    // What a client has seen before is told again when the spend is another one.
    await owner.expect('getEnterpriseKey', 200, { ...sent, headers: { 'if-none-match': tag } })
    await owner.expect('updateEnterpriseKey', 200, { ...sent, body: { name: 'renamed' }, headers: { 'if-match': tag } })
    await owner.expect('updateEnterpriseKey', 412, { ...sent, body: { name: 'again' }, headers: { 'if-match': tag } })
  })
})
