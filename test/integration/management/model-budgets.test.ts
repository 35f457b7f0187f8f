import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'

const PASSWORD = 'correct horse battery'
const PHONE = '+12025556201'
/** Micro-units; a token of an answer costs one. */
const COST = 5

let simulator: Simulator
let gateway: TestGateway
let admin: ManagementClient
let params: { readonly id: string }
let memberId: string

beforeAll(async () => {
  simulator = await startSimulator()
  const prices = { input: 0, output: 1_000_000 }
  gateway = await startGateway({
    fronts: 2,
    upstreams: [
      {
        id: 'up',
        dialect: 'openai-chat',
        baseUrl: `${simulator.origin}/v1`,
        models: ['dear', 'cheap', 'big-1', 'big-2'],
      },
      { id: 'gone', dialect: 'openai-chat', baseUrl: 'http://127.0.0.1:9/v1', models: ['broken'] },
    ],
    config: {
      models: [
        { id: 'dear', aliases: ['best'], prices },
        ...['cheap', 'big-1', 'big-2', 'broken'].map((id) => ({ id, prices })),
      ],
      fallbacks: { broken: ['dear'] },
      model_groups: [{ id: 'big', models: ['big-*'] }],
    },
  })
  admin = await ManagementClient.ofAdmin(gateway)
  await admin.expect('adminCreateUser', 201, { body: { phone: PHONE, name: 'Ada', password: PASSWORD } })
  const body = { name: 'Acme', owner_phone: PHONE, time_zone: 'Asia/Tokyo' }
  params = { id: String((await admin.expect('adminCreateEnterprise', 201, { body })).json['id']) }
  const { json } = await admin.expect('listMembers', 200, { params })
  memberId = (json['data'] as Array<{ id: string }>)[0]?.id ?? ''
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

interface Answer {
  readonly status: number
  readonly code: string | undefined
  readonly message: string
}

async function chat(key: string, model: string): Promise<Answer> {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({
      model,
      max_tokens: COST,
      messages: [{ role: 'user', content: `hi [[sim {"tokens":${COST}}]]` }],
    }),
  })
  const { error } = (await response.json()) as { error?: { code: string; message: string } }
  return { status: response.status, code: error?.code, message: error?.message ?? '' }
}

interface Made {
  readonly id: string
  readonly key: string
}

async function newKey(body: object = {}): Promise<Made> {
  const { json } = await admin.expect('createEnterpriseKey', 201, { params, body: { name: 'k', ...body } })
  return json as unknown as Made
}

const newDepartment = async (body: object): Promise<string> =>
  String((await admin.expect('createDepartment', 201, { params, body: { name: 'D', ...body } })).json['id'])

const budgetFor = (models: readonly string[], requests: number) => ({ models, monthly_budget: requests * COST })

const nextMonth = (): string => {
  const inTokyo = new Date(Date.now() + 9 * 3_600_000)
  return new Date(Date.UTC(inTokyo.getUTCFullYear(), inTokyo.getUTCMonth() + 1) - 9 * 3_600_000).toISOString()
}

/** Sends requests one after the other until one is refused. Returns the number that were let in. */
async function admitted(key: string, model: string, most = 20): Promise<number> {
  for (let count = 0; count < most; count++) {
    const { status, code } = await chat(key, model)
    if (status === 200) continue
    expect([status, code]).toEqual([429, 'BUDGET_EXHAUSTED'])
    return count
  }
  return most
}

describe('a budget for a model', () => {
  it('admits exactly as much as it covers, over all keys below a department, and shows what is left', async () => {
    const departmentId = await newDepartment({ model_budgets: [budgetFor(['dear'], 12)] })
    const below = await newDepartment({ parent_id: departmentId })
    const keys = [await newKey({ department_id: departmentId }), await newKey({ department_id: below })]
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) => chat(keys[index % 2]?.key ?? '', 'dear')),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(12)
    const refused = answers.filter(({ code }) => code === 'BUDGET_EXHAUSTED')
    expect(refused).toHaveLength(28)
    expect(refused[0]?.message).toBe(
      `What is left of the ${12 * COST} micro-units a month of this department (${departmentId}) for dear does not cover this ` +
        `request, which may cost ${COST} micro-units. The next month begins at ${nextMonth()}.`,
    )
    expect((await chat(keys[0]?.key ?? '', 'cheap')).status).toBe(200)
    const own = { params: { ...params, departmentId } }
    await eventually(async () => {
      const { json } = await admin.expect('getDepartment', 200, own)
      expect(json['model_budgets']).toEqual([{ models: ['dear'], monthly_budget: 12 * COST, monthly_tokens: null }])
      const { limit, spent, models } = json['spend'] as { limit: null; spent: number; models: unknown }
      const line = { spent: 12 * COST, held: 0, remaining: 0, resets_at: nextMonth() }
      expect([limit, spent, models]).toEqual([null, 13 * COST, [{ models: ['dear'], limit: 12 * COST, ...line }]])
    })
  })

  it('counts requests that ask by an alias', async () => {
    const { key } = await newKey({ model_budgets: [budgetFor(['dear'], 2)] })
    expect([await admitted(key, 'best'), await admitted(key, 'dear')]).toEqual([2, 0])
    const other = await newKey({ model_budgets: [budgetFor(['best'], 2)] })
    expect(await admitted(other.key, 'dear')).toBe(2)
  })

  it('is for the model asked for, also when another one serves the request', async () => {
    const { key } = await newKey({ model_budgets: [budgetFor(['broken'], 3), budgetFor(['dear'], 1)] })
    expect([await admitted(key, 'broken'), await admitted(key, 'dear')]).toEqual([3, 1])
  })

  it('counts tokens as well, and may be changed and taken away', async () => {
    const { id, key } = await newKey({ model_budgets: [{ models: ['dear'], monthly_tokens: 1 }] })
    const refused = await chat(key, 'dear')
    expect([refused.code, refused.message]).toEqual(['BUDGET_EXHAUSTED', expect.stringContaining('1 tokens a month')])
    const change = (model_budgets: unknown) =>
      admin.expect('updateEnterpriseKey', 200, { params: { ...params, keyId: id }, body: { model_budgets } })
    expect((await change([budgetFor(['dear'], 1)])).json['model_budgets']).toHaveLength(1)
    await eventually(async () => {
      expect((await chat(key, 'dear')).status).toBe(200)
    })
    expect(await admitted(key, 'dear')).toBe(0)
    expect((await change(null)).json['model_budgets']).toEqual([])
    await eventually(async () => {
      expect((await chat(key, 'dear')).status).toBe(200)
    })
  })

  it('counts what settled requests used in the month before it was set', async () => {
    const departmentId = await newDepartment({})
    const below = await newDepartment({ parent_id: departmentId })
    const { id: keyId, key } = await newKey({ department_id: below })
    expect([await admitted(key, 'dear', 3), await admitted(key, 'cheap', 1)]).toEqual([3, 1])
    await eventually(async () => {
      const { json } = await admin.expect('getEnterpriseKey', 200, { params: { ...params, keyId } })
      expect(json['spend']).toMatchObject({ spent: 4 * COST })
    })
    const spentOf = ({ json }: { readonly json: Record<string, unknown> }): unknown =>
      (json['spend'] as { models: Array<{ spent: number }> }).models.map(({ spent }) => spent)
    const body = { model_budgets: [budgetFor(['dear'], 5), budgetFor(['big'], 1), budgetFor(['best', 'cheap'], 9)] }
    const ofKey = await admin.expect('updateEnterpriseKey', 200, { params: { ...params, keyId }, body })
    expect(spentOf(ofKey)).toEqual([3 * COST, 0, 4 * COST])
    const ofDepartment = await admin.expect('updateDepartment', 200, { params: { ...params, departmentId }, body })
    expect(spentOf(ofDepartment)).toEqual([3 * COST, 0, 4 * COST])
    const other = await admin.expect('updateDepartment', 200, { params: { ...params, departmentId: below }, body })
    expect(spentOf(other)).toEqual([3 * COST, 0, 4 * COST])
    await eventually(async () => {
      expect((await chat(key, 'big-1')).status).toBe(200)
      expect((await chat(key, 'big-1')).code).toBe('BUDGET_EXHAUSTED')
    })
    expect(await admitted(key, 'dear')).toBe(2)
  })

  it.each(['updateMember', 'updateEnterprise', 'adminUpdateEnterprise'] as const)('is set by %s', async (operation) => {
    const { json } = await admin.expect(operation, 200, {
      params: { ...params, memberId },
      body: { model_budgets: [budgetFor(['cheap'], 0)] },
    })
    expect(json['model_budgets']).toEqual([{ models: ['cheap'], monthly_budget: 0, monthly_tokens: null }])
    const { key } = await newKey({ member_id: memberId })
    await eventually(async () => {
      const whose = operation === 'updateMember' ? `member of the enterprise (${memberId})` : 'enterprise'
      expect((await chat(key, 'cheap')).message).toContain(`of this ${whose} for cheap`)
    })
    expect((await chat(key, 'dear')).status).toBe(200)
    await admin.expect(operation, 200, { params: { ...params, memberId }, body: { model_budgets: [] } })
  })

  it.each([
    [[{ models: ['dear'] }], '/model_budgets/0', 'Give monthly_budget'],
    [[budgetFor(['daer'], 1)], '/model_budgets/0/models/0', 'no model and no group of models "daer"'],
    [[budgetFor(['dear', 'dear'], 1)], '/model_budgets/0/models/1', 'listed twice'],
    [[budgetFor(['d*r'], 1)], '/model_budgets/0/models/0', 'last character'],
    [[budgetFor(['dear', 'cheap'], 1), budgetFor(['cheap', 'dear'], 2)], '/model_budgets/1/models', 'the same models'],
    [[budgetFor([], 1)], '/model_budgets/0/models', ''],
    [[budgetFor(['dear'], -1)], '/model_budgets/0/monthly_budget', ''],
    [
      [{ ...budgetFor(['dear'], 1), rpm: 1 }],
      '/model_budgets/0/rpm',
      'there are models, monthly_budget, monthly_tokens',
    ],
  ])('is refused when it cannot hold: %j', async (modelBudgets, param, message) => {
    for (const operation of ['createEnterpriseKey', 'createDepartment'] as const) {
      const { status, json } = await admin.call(operation, { params, body: { name: 'x', model_budgets: modelBudgets } })
      expect([status, json['error']]).toMatchObject([
        400,
        { param, message: expect.stringContaining(message) as string },
      ])
    }
  })
})

describe('a group of models', () => {
  const group = (id: string) => ({ params: { id } })

  it('stands for its models, and a request has to fit under all budgets that are for it', async () => {
    await admin.expect('adminPutModelGroup', 200, { ...group('ones'), body: { models: ['big-1', 'dear'] } })
    // The first one refuses: a refused request gives back what it had reserved of others within a tick.
    const { key } = await newKey({ model_budgets: [budgetFor(['ones'], 3), budgetFor(['big'], 5)] })
    expect([await admitted(key, 'big-1'), await admitted(key, 'dear')]).toEqual([3, 0])
    expect([await admitted(key, 'big-2'), await admitted(key, 'cheap', 3)]).toEqual([2, 3])
  })

  it('can be changed: requests count for the models that it has then', async () => {
    await admin.expect('adminPutModelGroup', 200, { ...group('changing'), body: { models: ['big-1'] } })
    const { key } = await newKey({ model_budgets: [budgetFor(['changing'], 2)] })
    expect([await admitted(key, 'cheap', 3), await admitted(key, 'big-1')]).toEqual([3, 2])
    await admin.expect('adminPutModelGroup', 200, { ...group('changing'), body: { models: ['cheap'] } })
    await eventually(async () => {
      expect([await admitted(key, 'big-1', 3), await admitted(key, 'cheap', 3)]).toEqual([3, 0])
    })
  })

  it('is listed with its source, for platform admins and in each enterprise', async () => {
    await admin.expect('adminPutModelGroup', 200, { ...group('shown'), body: { models: ['cheap'] } })
    const { json } = await admin.expect('adminListModelGroups', 200)
    expect(json['data']).toEqual(
      expect.arrayContaining([
        { id: 'big', models: ['big-*'], source: 'file', created_at: null, updated_at: null },
        expect.objectContaining({ id: 'shown', models: ['cheap'], source: 'stored' }),
      ]),
    )
    expect((await admin.expect('adminGetModelGroup', 200, group('big'))).json).toMatchObject({ source: 'file' })
    await admin.expect('adminGetModelGroup', 404, group('nothing'))
    const owner = new ManagementClient(gateway.url)
    await owner.login(PHONE, PASSWORD)
    const { data } = (await owner.expect('listModelGroups', 200, { params })).json
    expect(data).toEqual(expect.arrayContaining([{ id: 'shown', models: ['cheap'] }]))
  })

  it('is not deleted while a budget is for it, nor changed when the configuration has it', async () => {
    await admin.expect('adminPutModelGroup', 200, { ...group('used'), body: { models: ['cheap'] } })
    const { id } = await newKey({ model_budgets: [budgetFor(['dear', 'used'], 1)] })
    const refused = await admin.expect('adminDeleteModelGroup', 409, group('used'))
    expect(refused.json['error']).toMatchObject({ message: expect.stringContaining(`API key ${id}`) as string })
    const body = { model_budgets: [] }
    await admin.expect('updateEnterpriseKey', 200, { params: { ...params, keyId: id }, body })
    await admin.expect('adminDeleteModelGroup', 204, group('used'))
    await admin.expect('adminDeleteModelGroup', 404, group('used'))
    await admin.expect('adminDeleteModelGroup', 409, group('big'))
    await admin.expect('adminPutModelGroup', 409, { ...group('big'), body: { models: ['cheap'] } })
  })

  it.each([
    ['dear', ['cheap'], 409, undefined],
    ['best', ['cheap'], 409, undefined],
    ['a b', ['cheap'], 400, undefined],
    ['new', ['nothing'], 400, '/models/0'],
    ['new', ['cheap', 'cheap'], 400, '/models/1'],
    ['new', ['big'], 400, '/models/0'],
    ['new', [], 400, '/models'],
  ] as const)('is refused as %s with %j', async (id, models, status, param) => {
    const { json } = await admin.expect('adminPutModelGroup', status, { ...group(id), body: { models } })
    if (param !== undefined) expect(json['error']).toMatchObject({ param })
  })
})
