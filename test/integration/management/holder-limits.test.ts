import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'

const PASSWORD = 'correct horse battery'

let simulator: Simulator
let gateway: TestGateway
let admin: ManagementClient
let params: { readonly id: string }
let memberId: string

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({
    fronts: 2,
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
  })
  admin = await ManagementClient.ofAdmin(gateway)
  const body = { phone: '+12025556101', name: 'Ada', password: PASSWORD }
  await admin.expect('adminCreateUser', 201, { body })
  const enterprise = { name: 'Acme', owner_phone: body.phone }
  params = { id: String((await admin.expect('adminCreateEnterprise', 201, { body: enterprise })).json['id']) }
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
  readonly message: string | undefined
  readonly retryAfter: number
}

async function chat(key: string, behaviour: object = {}): Promise<Answer> {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({
      model: 'm',
      max_tokens: 5,
      messages: [{ role: 'user', content: `hi [[sim ${JSON.stringify({ tokens: 5, ...behaviour })}]]` }],
    }),
  })
  const { error } = (await response.json()) as { error?: { code: string; message: string } }
  const retryAfter = Number(response.headers.get('retry-after'))
  // The key is new, and the control process of a busy machine was slow to tell a front of it: the request counts nowhere.
  if (error?.code === 'CONTROL_UNAVAILABLE') return chat(key, behaviour)
  return { status: response.status, code: error?.code, message: error?.message, retryAfter }
}

async function newDepartment(body: object): Promise<string> {
  return String((await admin.expect('createDepartment', 201, { params, body: { name: 'D', ...body } })).json['id'])
}

async function newKey(body: object): Promise<string> {
  return String((await admin.expect('createEnterpriseKey', 201, { params, body: { name: 'k', ...body } })).json['key'])
}

/** The number of answers with each code; `ok` for those without. */
function countsOf(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { code = 'ok' } of answers) counts[code] = (counts[code] ?? 0) + 1
  return counts
}

describe('the limits of a department', () => {
  it('hold over all keys below it, exactly, and name it', async () => {
    const top = await newDepartment({ rpm: 12 })
    const left = await newDepartment({ parent_id: top })
    const right = await newDepartment({ parent_id: top })
    const keys = [await newKey({ department_id: left }), await newKey({ department_id: right })]
    const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => chat(keys[index % 2] ?? '')))
    expect(countsOf(answers)).toEqual({ ok: 12, RPM_EXCEEDED: 28 })
    const refused = answers.find(({ status }) => status === 429)
    expect(refused?.code).toBe('RPM_EXCEEDED')
    expect(refused?.message).toContain(`This department (${top}) may use 12 requests per minute.`)
    expect(refused?.retryAfter).toBeGreaterThan(0)
    expect(refused?.retryAfter).toBeLessThanOrEqual(61)
    // Others of the enterprise are not under it.
    expect((await chat(await newKey({}))).status).toBe(200)
  })

  it('can be changed and taken away', async () => {
    const departmentId = await newDepartment({ rpm: 0 })
    const key = await newKey({ department_id: departmentId })
    expect((await chat(key)).code).toBe('RPM_EXCEEDED')
    const own = { params: { ...params, departmentId } }
    const { json } = await admin.expect('updateDepartment', 200, {
      ...own,
      body: { rpm: null, tpm: 1, max_concurrency: 9 },
    })
    expect(json).toMatchObject({ rpm: null, tpm: 1, max_concurrency: 9 })
    await eventually(async () => {
      // A request may use more tokens than the whole limit, when nothing else does: the first is let in.
      const { code, message } = await chat(key)
      expect([code, message]).toEqual(['TPM_EXCEEDED', expect.stringContaining(`(${departmentId}) may use 1 tokens`)])
    })
    await admin.expect('updateDepartment', 200, { ...own, body: { tpm: null } })
    await eventually(async () => {
      expect((await chat(key)).status).toBe(200)
    })
    expect((await admin.expect('getDepartment', 200, own)).json).toMatchObject({ tpm: null, max_concurrency: 9 })
  })

  it('are numbers of at least 0', async () => {
    for (const [body, param] of [
      [{ rpm: -1 }, '/rpm'],
      [{ tpm: 1.5 }, '/tpm'],
      [{ max_concurrency: '3' }, '/max_concurrency'],
    ] as const) {
      const made = await admin.call('createDepartment', { params, body: { name: 'D', ...body } })
      expect(made).toMatchObject({ status: 400, json: { error: { param } } })
      const changed = await admin.call('updateMember', { params: { ...params, memberId }, body })
      expect(changed).toMatchObject({ status: 400, json: { error: { param } } })
    }
  })
})

describe('the limits of a member', () => {
  it('hold over all keys of the member, exactly, and name the member', async () => {
    const own = { params: { ...params, memberId } }
    const { json } = await admin.expect('updateMember', 200, { ...own, body: { max_concurrency: 3 } })
    expect(json).toMatchObject({ max_concurrency: 3, rpm: null, tpm: null })
    const keys = [await newKey({ member_id: memberId }), await newKey({ member_id: memberId })]
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => chat(keys[index % 2] ?? '', { ttftMs: 3_000 })),
    )
    expect(countsOf(answers)).toEqual({ ok: 3, CONCURRENCY_EXCEEDED: 17 })
    const refused = answers.find(({ status }) => status === 429)
    expect(refused).toMatchObject({ code: 'CONCURRENCY_EXCEEDED' })
    expect(refused?.message).toContain(
      `This member of the enterprise (${memberId}) may run 3 requests at the same time`,
    )
    expect((await chat(keys[0] ?? '')).status).toBe(200)
    await admin.expect('updateMember', 200, { ...own, body: { max_concurrency: null } })
  })
})
