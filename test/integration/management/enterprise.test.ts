import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { itLater } from '../../support/dose.ts'
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

async function newUser(name: string, more: object = {}): Promise<Somebody> {
  lastNumber += 1
  const phone = `+1202555${String(2000 + lastNumber)}`
  await admin.expect('adminCreateUser', 201, { body: { phone, name, password: PASSWORD, ...more } })
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
  const invited = await owner.client.expect('invite', 201, { params: { id }, body: { phone: somebody.phone, role } })
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
  itLater('shows one department and one member as its lists do', async () => {
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

  itLater('decides on those who ask with a role and department, or with a reason that they read', async () => {
    const { id, owner } = await newEnterprise()
    const params = { id }
    const made = await owner.client.expect('createDepartment', 201, { params, body: { name: 'Research' } })
    const departmentId = String(made.json['id'])
    const ask = async (name: string): Promise<Somebody & { requestId: string }> => {
      const asker = await newUser(name)
      const { json } = await asker.client.expect('askToJoin', 201, { params, body: {} })
      return { ...asker, requestId: String(json['id']) }
    }
    const [ann, bob, eve] = [await ask('Ann'), await ask('Bob'), await ask('Eve')]
    const { client } = owner
    const approved = {
      params: { id, requestId: ann.requestId },
      body: { role: 'finance', department_id: departmentId },
    }
    await client.expect('approveJoinRequest', 200, approved)
    const { json } = await client.expect('listMembers', 200, { params, query: { search: 'nn' } })
    expect(json).toMatchObject({
      total: 1,
      data: [{ role: 'finance', department_id: departmentId, user: { name: 'Ann' } }],
    })
    const reason = 'We do not know you.'
    await client.expect('rejectJoinRequest', 200, { params: { id, requestId: bob.requestId }, body: { reason } })
    const own = await bob.client.expect('listOwnJoinRequests', 200)
    expect(own.json['data']).toMatchObject([{ enterprise: { id, name: 'Acme' }, status: 'rejected', reason }])
    const open = await client.expect('listJoinRequests', 200, { params, query: { status: 'pending' } })
    expect(open.json).toMatchObject({ total: 1, data: [{ user: { name: 'Eve' } }] })
    // An admin of the enterprise makes no owners, and a role has a department of this enterprise.
    const admins = await newMember(id, owner, 'admin')
    const at = { id, requestId: eve.requestId }
    expect(codeOf(await admins.client.call('approveJoinRequest', { params: at, body: { role: 'owner' } }))).toBe(
      'ROLE_DENIED',
    )
    expect(codeOf(await client.call('approveJoinRequest', { params: at, body: { department_id: 'x' } }))).toBe(
      'INVALID_FIELD',
    )
  })

  itLater('sends an invitation again, and lets members leave but for the last owner', async () => {
    const { id, owner } = await newEnterprise()
    const user = await newUser('Uma')
    const invited = await owner.client.expect('invite', 201, {
      params: { id },
      body: { phone: user.phone, role: 'admin' },
    })
    const at = { params: { id, invitationId: String(invited.json['id']) } }
    const again = await owner.client.expect('resendInvitation', 200, at)
    expect(codeOf(await user.client.call('acceptInvitation', { body: { token: invited.json['token'] } }))).toBe(
      'NOT_FOUND',
    )
    await user.client.expect('acceptInvitation', 200, { body: { token: again.json['token'] } })
    expect((await owner.client.call('resendInvitation', at)).status).toBe(404)
    expect(codeOf(await owner.client.call('leaveEnterprise', { params: { id } }))).toBe('CONFLICT')
    const audit = await user.client.expect('listEnterpriseAudit', 200, {
      params: { id },
      query: { operation: 'invite' },
    })
    expect(audit.json['data']).toMatchObject([{ operation: 'invite', enterprise_id: id, outcome: 'done' }])
    await user.client.expect('leaveEnterprise', 204, { params: { id } })
    expect((await user.client.call('getEnterprise', { params: { id } })).status).toBe(404)
  })

  it('invites by tokens that are good once, and not after they were cancelled', async () => {
    const { id, owner } = await newEnterprise()
    const invited = await owner.client.expect('invite', 201, {
      params: { id },
      body: { email: 'a@example.com', role: 'finance' },
    })
    const token = String(invited.json['token'])
    const first = await newUser('First', { email: 'A@example.com' })
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

  itLater('lets only the user of the address accept an invitation, which stays open for that user', async () => {
    const { id, owner } = await newEnterprise()
    const invite = async (body: object): Promise<{ token: string; id: string }> => {
      const { json } = await owner.client.expect('invite', 201, { params: { id }, body: { role: 'employee', ...body } })
      return { token: String(json['token']), id: String(json['id']) }
    }
    const ann = await newUser('Ann', { email: 'ann@example.com' })
    const bob = await newUser('Bob')
    const byEmail = await invite({ email: 'Ann@Example.com' })
    const byPhone = await invite({ phone: bob.phone })
    const accept = (who: Somebody, { token }: { token: string }) =>
      who.client.call('acceptInvitation', { body: { token } })
    expect(await accept(bob, byEmail)).toMatchObject({ status: 403, json: { error: { code: 'INVITATION_DENIED' } } })
    expect(await accept(ann, byPhone)).toMatchObject({ status: 403, json: { error: { code: 'INVITATION_DENIED' } } })
    const account = { phone: '+12025559191', password: PASSWORD, name: 'Eve', invitation_token: byPhone.token }
    expect(codeOf(await bob.client.call('register', { body: account }))).toBe('INVITATION_DENIED')
    const taken = await bob.client.call('register', { body: { ...account, invitation_token: byEmail.token } })
    expect(taken).toMatchObject({ status: 409, json: { error: { param: '/invitation_token' } } })
    // A phone number of a refused registration is still free.
    expect((await bob.client.call('login', { body: { phone: account.phone, password: PASSWORD } })).status).toBe(401)
    expect((await accept(ann, byEmail)).status).toBe(200)
    expect((await accept(bob, byPhone)).status).toBe(200)
    const list = await owner.client.expect('listInvitations', 200, { params: { id } })
    expect(list.json['data']).toMatchObject([
      { id: byPhone.id, phone: bob.phone, email: null, status: 'accepted' },
      { id: byEmail.id, phone: null, email: 'Ann@Example.com', status: 'accepted' },
    ])
    // An invitation to an address makes an account of that address.
    const fresh = await invite({ email: 'new@example.com' })
    const made = await bob.client.expect('register', 200, { body: { ...account, invitation_token: fresh.token } })
    expect(made.json['user']).toMatchObject({ email: 'new@example.com', enterprises: [{ id }] })

    for (const [body, param] of [
      [{ role: 'employee' }, '/email'],
      [{ role: 'employee', email: 'a@example.com', phone: bob.phone }, '/phone'],
      [{ role: 'employee', phone: '12345' }, '/phone'],
    ] as const) {
      expect(await owner.client.call('invite', { params: { id }, body })).toMatchObject({
        status: 400,
        json: { error: { code: 'INVALID_FIELD', param } },
      })
    }
  })

  itLater('keeps the keys of a removed member off, also when the member comes back', async () => {
    const { id, owner } = await newEnterprise()
    const employee = await newMember(id, owner, 'employee')
    const made = await owner.client.expect('createEnterpriseKey', 201, {
      params: { id },
      body: { name: 'hers', member_id: employee.memberId },
    })
    const key = String(made.json['key'])
    const own = { params: { id, keyId: String(made.json['id']) } }
    const member = { params: { id, memberId: employee.memberId } }
    expect((await chat(key)).status).toBe(200)
    // While the member is disabled, so is the key.
    await owner.client.expect('updateMember', 200, { ...member, body: { status: 'disabled' } })
    await eventually(async () => {
      expect((await chat(key)).code).toBe('KEY_DISABLED')
    })
    await owner.client.expect('updateMember', 200, { ...member, body: { status: 'active' } })
    await eventually(async () => {
      expect((await chat(key)).status).toBe(200)
    })
    await owner.client.expect('removeMember', 204, member)
    await eventually(async () => {
      expect((await chat(key)).code).toBe('KEY_DISABLED')
    })
    const again = await owner.client.expect('invite', 201, {
      params: { id },
      body: { phone: employee.phone, role: 'employee' },
    })
    await employee.client.expect('acceptInvitation', 200, { body: { token: again.json['token'] } })
    expect((await owner.client.expect('getEnterpriseKey', 200, own)).json['enabled']).toBe(false)
    expect((await chat(key)).code).toBe('KEY_DISABLED')
    const gone = await owner.client.call('updateEnterpriseKey', { ...own, body: { member_id: employee.memberId } })
    expect(gone).toMatchObject({ status: 400, json: { error: { param: '/member_id' } } })
    await owner.client.expect('toggleEnterpriseKey', 200, { ...own, body: { enabled: true } })
    await eventually(async () => {
      expect((await chat(key)).status).toBe(200)
    })
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
