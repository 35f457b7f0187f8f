import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'

const PASSWORD = 'correct horse battery'
/** One micro-unit for each token of an answer. */
const TOKENS = 20
const AFFORDABLE = 5

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
  readonly client: ManagementClient
  readonly phone: string
}

async function newUser(name: string): Promise<Somebody> {
  lastNumber += 1
  const phone = `+1202555${String(2000 + lastNumber)}`
  await admin.expect('adminCreateUser', 201, { body: { phone, name, password: PASSWORD } })
  const client = new ManagementClient(gateway.url)
  await client.login(phone, PASSWORD)
  return { client, phone }
}

async function newEnterprise(more: object = {}): Promise<{ id: string; owner: Somebody }> {
  const owner = await newUser('Olga')
  const { json } = await admin.expect('adminCreateEnterprise', 201, {
    body: { name: 'Acme', owner_phone: owner.phone, ...more },
  })
  return { id: String(json['id']), owner }
}

/** A new user in the role. */
async function newMember(id: string, owner: Somebody, role: string): Promise<Somebody & { memberId: string }> {
  const somebody = await newUser(role)
  const invited = await owner.client.expect('invite', 201, { params: { id }, body: { email: 'a@example.com', role } })
  await somebody.client.expect('acceptInvitation', 200, { body: { token: invited.json['token'] } })
  const { json } = await owner.client.expect('listMembers', 200, { params: { id }, query: { limit: '100' } })
  const members = json['data'] as Array<{ id: string; user: { phone: string } }>
  const memberId = members.find(({ user }) => user.phone === somebody.phone)?.id ?? ''
  return { ...somebody, memberId }
}

async function chat(key: string): Promise<{ status: number; code: string | undefined; type: string | undefined }> {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'm',
      max_tokens: TOKENS,
      messages: [{ role: 'user', content: `hi [[sim {"tokens":${TOKENS}}]]` }],
    }),
  })
  const { error } = (await response.json()) as { error?: { code: string; type: string } }
  return { status: response.status, code: error?.code, type: error?.type }
}

const codeOf = ({ json }: { json: Record<string, unknown> }): unknown => (json['error'] as { code?: unknown }).code

it(
  'is made, paid for, used until the money is gone, and all its books tell the same',
  { timeout: 120_000 },
  async () => {
    const { id, owner } = await newEnterprise({ is_prepaid: true })
    const topUp = { amount: AFFORDABLE * TOKENS, currency: 'USD', reference: 'invoice 1' }
    const toppedUp = await admin.expect('topUpWallet', 200, { params: { id }, body: topUp })
    expect(toppedUp.json).toMatchObject({ balance: 100, credited: 100, charged: 0, is_prepaid: true })
    // Said twice, done once.
    expect((await admin.expect('topUpWallet', 200, { params: { id }, body: topUp })).json['balance']).toBe(100)

    const employee = await newMember(id, owner, 'employee')
    const department = await owner.client.expect('createDepartment', 201, {
      params: { id },
      body: { name: 'Research', monthly_budget: 1_000_000 },
    })
    const departmentId = String(department.json['id'])
    await owner.client.expect('updateMember', 200, {
      params: { id, memberId: employee.memberId },
      body: { department_id: departmentId },
    })
    const made = await owner.client.expect('createEnterpriseKey', 201, {
      params: { id },
      body: { name: 'research', monthly_budget: 500_000, member_id: employee.memberId, department_id: departmentId },
    })
    const key = String(made.json['key'])

    const served: number[] = []
    const refusal = await eventually(
      async () => {
        const { status, code, type } = await chat(key)
        if (status === 200) served.push(status)
        expect([status, code, type]).toEqual([429, 'BUDGET_EXHAUSTED', 'quota_exhausted'])
        return code
      },
      { timeoutMs: 30_000 },
    )
    expect(refusal).toBe('BUDGET_EXHAUSTED')
    expect(served).toHaveLength(AFFORDABLE)

    await eventually(
      async () => {
        const { json: wallet } = await owner.client.expect('getWallet', 200, { params: { id } })
        expect(wallet).toMatchObject({ balance: 0, credited: 100, charged: 100 })
      },
      { timeoutMs: 30_000 },
    )
    const { json: log } = await owner.client.expect('enterpriseLogs', 200, { params: { id }, query: { status: '200' } })
    const rows = log['data'] as Array<{ cost: number; department_id: string; member_id: string }>
    expect(rows.map(({ cost }) => cost)).toEqual(Array.from({ length: AFFORDABLE }, () => TOKENS))
    expect(rows[0]).toMatchObject({ department_id: departmentId, member_id: employee.memberId })
    const { json: stats } = await owner.client.expect('enterpriseUsage', 200, { params: { id } })
    expect(stats['totals']).toMatchObject({ cost: 100, completion_tokens: 100 })
    const { json: moves } = await owner.client.expect('listTransactions', 200, { params: { id } })
    const amounts = (moves['data'] as Array<{ amount: number }>).map(({ amount }) => amount)
    expect(amounts.reduce((sum, amount) => sum + amount, 0)).toBe(0)

    await owner.client.expect('toggleEnterpriseKey', 200, {
      params: { id, keyId: String(made.json['id']) },
      body: { enabled: false },
    })
    await eventually(async () => {
      expect((await chat(key)).code).toBe('KEY_DISABLED')
    })
  },
)

describe('an enterprise', () => {
  it('shows one department and one member as its lists do', async () => {
    const { id, owner } = await newEnterprise()
    const other = await newEnterprise()
    const body = { name: 'Research', monthly_budget: 5 }
    const made = await owner.client.expect('createDepartment', 201, { params: { id }, body })
    const departmentId = String(made.json['id'])
    const department = await owner.client.expect('getDepartment', 200, { params: { id, departmentId } })
    expect(department.json).toMatchObject({ id: departmentId, ...body })
    const { memberId } = await newMember(id, owner, 'employee')
    const member = await owner.client.expect('getMember', 200, { params: { id, memberId } })
    const list = await owner.client.expect('listMembers', 200, { params: { id } })
    expect(list.json['data']).toContainEqual(member.json)
    const theirs = { id: other.id, departmentId, memberId }
    expect(codeOf(await other.owner.client.call('getDepartment', { params: theirs }))).toBe('NOT_FOUND')
    expect(codeOf(await other.owner.client.call('getMember', { params: theirs }))).toBe('NOT_FOUND')
  })

  it('is told of to its members, and found by the phone of its owner', async () => {
    const { id, owner } = await newEnterprise()
    const me = await owner.client.expect('me', 200)
    expect(me.json['enterprises']).toEqual([{ id, name: 'Acme', role: 'owner' }])
    const stranger = await newUser('Sam')
    const search = await stranger.client.expect('searchEnterprises', 200, { query: { phone: owner.phone } })
    expect(search.json['data']).toEqual([{ id, name: 'Acme' }])
    await owner.client.expect('updateEnterprise', 200, {
      params: { id },
      body: { name: 'Acme & Sons', time_zone: 'Europe/Berlin', monthly_budget: 5 },
    })
    const bad = await owner.client.call('updateEnterprise', { params: { id }, body: { time_zone: 'Mars/Base' } })
    expect(bad).toMatchObject({ status: 400, json: { error: { param: '/time_zone' } } })
  })

  it('stops with all its keys when it is disabled', async () => {
    const { id, owner } = await newEnterprise()
    const made = await owner.client.expect('createEnterpriseKey', 201, { params: { id }, body: { name: 'a' } })
    const key = String(made.json['key'])
    await eventually(async () => {
      expect((await chat(key)).status).toBe(200)
    })
    await admin.expect('adminUpdateEnterprise', 200, { params: { id }, body: { status: 'disabled' } })
    await eventually(async () => {
      expect((await chat(key)).code).toBe('KEY_DISABLED')
    })
    expect(codeOf(await owner.client.call('getEnterprise', { params: { id } }))).toBe('ENTERPRISE_DISABLED')
    await admin.expect('getEnterprise', 200, { params: { id } })
  })

  it('takes members in who ask, once each', async () => {
    const { id, owner } = await newEnterprise()
    const asker = await newUser('Ann')
    const asked = await asker.client.expect('askToJoin', 201, { params: { id }, body: { message: 'please' } })
    expect(codeOf(await asker.client.call('askToJoin', { params: { id }, body: {} }))).toBe('CONFLICT')
    const requestId = String(asked.json['id'])
    const listed = await owner.client.expect('listJoinRequests', 200, { params: { id } })
    expect(listed.json['data']).toMatchObject([{ id: requestId, status: 'pending', user: { name: 'Ann' } }])
    const approved = await owner.client.expect('approveJoinRequest', 200, { params: { id, requestId } })
    expect(approved.json['status']).toBe('approved')
    expect(codeOf(await owner.client.call('rejectJoinRequest', { params: { id, requestId } }))).toBe('CONFLICT')
    await asker.client.expect('getEnterprise', 200, { params: { id } })
    expect(codeOf(await asker.client.call('askToJoin', { params: { id }, body: {} }))).toBe('CONFLICT')

    const other = await newUser('Bob')
    const { json } = await other.client.expect('askToJoin', 201, { params: { id }, body: {} })
    const withdrawn = { params: { id, requestId: String(json['id']) } }
    expect((await asker.client.call('withdrawJoinRequest', withdrawn)).status).toBe(404)
    await other.client.expect('withdrawJoinRequest', 204, withdrawn)
  })

  it('invites by tokens that are good once, and not after they were cancelled', async () => {
    const { id, owner } = await newEnterprise()
    const invited = await owner.client.expect('invite', 201, {
      params: { id },
      body: { email: 'a@example.com', role: 'finance' },
    })
    const token = String(invited.json['token'])
    const first = await newUser('First')
    const accepted = await first.client.expect('acceptInvitation', 200, { body: { token } })
    expect(accepted.json).toMatchObject({ role: 'finance', enterprise: { id } })
    expect((await (await newUser('Second')).client.call('acceptInvitation', { body: { token } })).status).toBe(404)

    const other = await owner.client.expect('invite', 201, {
      params: { id },
      body: { email: 'b@example.com', role: 'admin' },
    })
    await owner.client.expect('cancelInvitation', 204, { params: { id, invitationId: String(other.json['id']) } })
    const late = await first.client.call('acceptInvitation', { body: { token: other.json['token'] } })
    expect(late.status).toBe(404)
    const account = { phone: '+12025559090', password: PASSWORD, name: 'New', invitation_token: token }
    expect((await first.client.call('register', { body: account })).status).toBe(404)
    const third = await owner.client.expect('invite', 201, {
      params: { id },
      body: { email: 'c@example.com', role: 'employee' },
    })
    const registered = await first.client.expect('register', 200, {
      body: { ...account, invitation_token: third.json['token'] },
    })
    expect(registered.json['user']).toMatchObject({ enterprises: [{ id, role: 'employee' }] })
  })

  it('keeps an owner, whom only owners make and take out', async () => {
    const { id, owner } = await newEnterprise()
    const second = await newMember(id, owner, 'admin')
    const { json } = await owner.client.expect('listMembers', 200, { params: { id } })
    const ownerId = String(
      (json['data'] as Array<{ id: string; role: string }>).find(({ role }) => role === 'owner')?.id,
    )
    const own = { params: { id, memberId: ownerId } }
    expect(codeOf(await owner.client.call('removeMember', own))).toBe('CONFLICT')
    expect(codeOf(await owner.client.call('updateMember', { ...own, body: { role: 'employee' } }))).toBe('CONFLICT')
    expect(codeOf(await second.client.call('removeMember', own))).toBe('ROLE_DENIED')
    const promotion = { params: { id, memberId: second.memberId }, body: { role: 'owner' } }
    expect(codeOf(await second.client.call('updateMember', promotion))).toBe('ROLE_DENIED')
    await owner.client.expect('updateMember', 200, promotion)
    await second.client.expect('removeMember', 204, own)
    expect((await owner.client.call('getEnterprise', { params: { id } })).status).toBe(404)
  })

  it('has departments in a tree without circles', async () => {
    const { id, owner } = await newEnterprise()
    const make = async (name: string, parent: string | null): Promise<string> => {
      const body = { name, parent_id: parent, monthly_tokens: 10 }
      return String((await owner.client.expect('createDepartment', 201, { params: { id }, body })).json['id'])
    }
    const top = await make('Top', null)
    const middle = await make('Middle', top)
    const low = await make('Low', middle)
    const move = (departmentId: string, parent: string | null) =>
      owner.client.call('updateDepartment', { params: { id, departmentId }, body: { parent_id: parent } })
    for (const parent of [low, middle, top]) {
      expect(await move(top, parent)).toMatchObject({ status: 400, json: { error: { param: '/parent_id' } } })
    }
    expect((await move(low, top)).status).toBe(200)
    expect((await move(low, 'dep_x')).status).toBe(400)
    const remove = (departmentId: string) => owner.client.call('deleteDepartment', { params: { id, departmentId } })
    expect(codeOf(await remove(top))).toBe('CONFLICT')
    for (const departmentId of [low, middle, top]) expect((await remove(departmentId)).status).toBe(204)
    expect((await owner.client.expect('listDepartments', 200, { params: { id } })).json['data']).toEqual([])
  })

  it('has a wallet that nobody overdraws, and that admins set right', async () => {
    const { id, owner } = await newEnterprise({})
    const topUp = (body: object) => admin.call('topUpWallet', { params: { id }, body })
    const body = { amount: 10, currency: 'USD', reference: 'one' }
    expect((await topUp(body)).json['balance']).toBe(10)
    expect(codeOf(await topUp({ ...body, amount: 11 }))).toBe('CONFLICT')
    expect(await topUp({ ...body, currency: 'EUR' })).toMatchObject({ json: { error: { param: '/currency' } } })
    expect(await topUp({ ...body, amount: 0 })).toMatchObject({ json: { error: { param: '/amount' } } })
    const adjust = (change: object) => admin.call('adminAdjustWallet', { params: { id }, body: change })
    expect(codeOf(await adjust({ kind: 'refund', amount: -11, reference: 'a' }))).toBe('CONFLICT')
    expect((await adjust({ kind: 'refund', amount: -4, reference: 'b' })).json['balance']).toBe(6)
    expect((await adjust({ kind: 'adjustment', amount: 1, reference: 'c' })).json['balance']).toBe(7)
    const first = await owner.client.expect('listTransactions', 200, { params: { id }, query: { limit: '2' } })
    expect(first.json['data']).toMatchObject([
      { kind: 'adjustment', amount: 1 },
      { kind: 'refund', amount: -4 },
    ])
    const cursor = String(first.json['next_cursor'])
    const rest = await owner.client.expect('listTransactions', 200, { params: { id }, query: { cursor } })
    expect(rest.json).toMatchObject({ has_more: false, data: [{ kind: 'topup', amount: 10, reference: 'one' }] })
  })

  it('has keys for its own departments and members alone', async () => {
    const { id, owner } = await newEnterprise()
    const other = await newEnterprise()
    const department = await other.owner.client.expect('createDepartment', 201, {
      params: { id: other.id },
      body: { name: 'Theirs' },
    })
    const foreign = { name: 'a', department_id: department.json['id'] }
    const refused = await owner.client.call('createEnterpriseKey', { params: { id }, body: foreign })
    expect(refused).toMatchObject({ status: 400, json: { error: { param: '/department_id' } } })
    const made = await owner.client.expect('createEnterpriseKey', 201, { params: { id }, body: { name: 'a' } })
    const keyId = String(made.json['id'])
    const theirs = { params: { id: other.id, keyId } }
    expect((await other.owner.client.call('getEnterpriseKey', theirs)).status).toBe(404)
    expect((await other.owner.client.call('deleteEnterpriseKey', theirs)).status).toBe(404)
    const changed = await owner.client.expect('updateEnterpriseKey', 200, {
      params: { id, keyId },
      body: { monthly_tokens: 7, name: 'b' },
    })
    expect(changed.json).toMatchObject({ monthly_tokens: 7, name: 'b' })
    await owner.client.expect('listEnterpriseKeys', 200, { params: { id } })
    await owner.client.expect('deleteEnterpriseKey', 204, { params: { id, keyId } })
  })
})
