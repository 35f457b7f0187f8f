import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Webhook } from 'standardwebhooks'
import type { OperationSpec } from '../../../src/shared/api/operation.ts'
import { OPERATIONS } from '../../../src/shared/api/operations/index.ts'
import type { OperationName } from '../../../src/shared/api/operations/index.ts'
import { firstCases } from '../../support/dose.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { MailServer } from '../../support/mail-server.ts'
import { ManagementClient } from '../../support/management-client.ts'
import type { ManagementAnswer, Sent } from '../../support/management-client.ts'
import { codeOf } from '../../support/one-time-passwords.ts'
import { UpstreamToolServer } from '../../support/upstream-tool-server.ts'

const PASSWORD = 'correct horse battery'
const PAYMENT_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** Operations that are no GET and leave no row, with the reason. */
const WITHOUT_ROW: Partial<Record<OperationName, string>> = {
  login: 'changes nothing that is stored; failed ones leave a row',
  adminTestUpstream: 'changes nothing that is stored',
  adminTestToolServer: 'changes nothing that is stored',
  adminRetryDeadLetter: 'needs a dead letter that can be settled; dead-letters.test.ts reads its row',
  adminDiscardDeadLetter: 'needs a dead letter; dead-letters.test.ts reads its row',
  adminRefreshToolServer: 'notes what a server has; what an admin allows is another operation',
  startToolConnection: 'changes nothing until the user has consented',
  finishToolConnection: 'needs an authorization server; mcp/servers-oauth.test.ts reads its row',
  endToolConnection: 'needs a connection; mcp/servers-oauth.test.ts reads its row',
  testAlert: 'changes nothing that is stored',
  adminTestAlert: 'changes nothing that is stored',
  forgotPassword: 'leaves a row when it mails a link',
  oidcToken: 'begins a session, like login; the row of the callback tells what the log-in changed',
}

const ALERTS = 'changes a secret alone'

/** Changes whose row has no values, with the reason. */
const WITHOUT_VALUES: Partial<Record<OperationName, string>> = {
  logout: 'ends a session, which has no fields',
  changePassword: 'changes a secret alone',
  endSession: 'ends a session, which has no fields',
  enrolTotp: 'stores a secret alone, which has no effect yet',
  renewRecoveryCodes: 'changes secrets alone',
  rotateAlertSecret: ALERTS,
  adminRotateAlertSecret: ALERTS,
}

let mails: MailServer
let gateway: TestGateway
let admin: ManagementClient
let user: ManagementClient
let id: string
let last = 0

beforeAll(async () => {
  mails = await MailServer.start()
  gateway = await startGateway({
    config: {
      wallet: { payment_secret: PAYMENT_SECRET },
      mail: mails.config,
      auth: { console_url: 'https://ai.example.com/console' },
      management: { private_upstreams: ['127.0.0.1'] },
    },
  })
  admin = await ManagementClient.ofAdmin(gateway)
  user = (await newUser()).client
  id = String((await admin.expect('adminCreateEnterprise', 201, { body: { name: 'Acme' } })).json['id'])
})

afterAll(async () => {
  await gateway.stop()
  await mails.stop()
})

async function newUser(): Promise<{ id: string; phone: string; client: ManagementClient }> {
  last += 1
  const phone = `+1202555${String(9000 + last)}`
  const { json } = await admin.expect('adminCreateUser', 201, { body: { phone, name: 'Ada', password: PASSWORD } })
  const client = new ManagementClient(gateway.url)
  await client.login(phone, PASSWORD)
  return { id: String(json['id']), phone, client }
}

async function make(name: OperationName, sent: Sent = {}, client = admin): Promise<Record<string, unknown>> {
  return (await client.expect(name, 201, { params: { id }, ...sent })).json
}

const idOf = async (made: Promise<Record<string, unknown>>): Promise<string> => String((await made)['id'])

async function newMember(): Promise<string> {
  const { phone, client } = await newUser()
  const { token } = await make('invite', { body: { phone, role: 'employee' } })
  await client.expect('acceptInvitation', 200, { body: { token } })
  const { json } = await admin.expect('listMembers', 200, { params: { id }, query: { limit: '100' } })
  const members = json['data'] as Array<{ id: string; user: { phone: string } }>
  return members.find((member) => member.user.phone === phone)?.id ?? ''
}

const newKey = (): Promise<string> => idOf(make('createEnterpriseKey', { body: { name: 'k' } }))
const newUpstream = (): Promise<string> => {
  last += 1
  const upstream = { id: `up-${last}`, provider: 'openai', models: [`model-${last}`] }
  return idOf(make('adminCreateUpstream', { body: { ...upstream, keys: [{ credential: `sk-secret-of-up-${last}` }] } }))
}
const askToJoin = async (): Promise<{ client: ManagementClient; params: { id: string; requestId: string } }> => {
  const { client } = await newUser()
  return { client, params: { id, requestId: await idOf(make('askToJoin', { body: {} }, client)) } }
}

function pay(reference: string): Promise<ManagementAnswer> {
  const body = { enterprise_id: id, amount: 30, currency: 'USD', reference }
  const at = new Date()
  const headers = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(PAYMENT_SECRET).sign('msg_1', at, JSON.stringify(body)),
  }
  return admin.expect('receivePayment', 200, { body, headers, token: null })
}

/** Sends a request whose bodies are captured, and waits until its log shows them. */
async function capturedRequest(key: unknown): Promise<string> {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${String(key)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim-gpt', messages: [{ role: 'user', content: 'hi' }] }),
  })
  await response.text()
  const logId = response.headers.get('x-request-id') ?? ''
  await eventually(async () => {
    expect((await admin.expect('adminGetLog', 200, { params: { id: logId } })).json['captured']).toBe(true)
  })
  return logId
}

const CAPTURE = { name: 'captured', capture: { requests: true } }
const capturedOfEnterprise = async (): Promise<string> =>
  capturedRequest((await make('createEnterpriseKey', { body: CAPTURE }))['key'])

type Scenario = () => Promise<readonly [ManagementAnswer, ...unknown[]]>

const changed = (field: string, old: unknown, fresh: unknown): object => ({ field, old, new: fresh })

const ALERT = { kind: 'error_rate', threshold: 50, channels: [{ webhook: 'https://hooks.example.com/a' }] }

function alertScenarios(scope: '' | 'admin'): Partial<Record<OperationName, Scenario>> {
  const named = (name: string): OperationName =>
    (scope === '' ? name : `admin${name.slice(0, 1).toUpperCase()}${name.slice(1)}`) as OperationName
  const newAlert = async (): Promise<{ id: string; alertId: string; channelId: string }> => {
    const made = await make(named('createAlert'), { body: ALERT })
    const [channel] = made['channels'] as Array<{ id: string }>
    const alertId = String(made['id'])
    return { id: scope === '' ? id : alertId, alertId, channelId: channel?.id ?? '' }
  }
  return {
    [named('createAlert')]: async () => [
      await admin.expect(named('createAlert'), 201, { params: { id }, body: ALERT }),
      changed('kind', null, 'error_rate'),
    ],
    [named('updateAlert')]: async () => {
      const params = await newAlert()
      return [
        await admin.expect(named('updateAlert'), 200, { params, body: { threshold: 60 } }),
        changed('threshold', 50, 60),
      ]
    },
    [named('deleteAlert')]: async () => [
      await admin.expect(named('deleteAlert'), 204, { params: await newAlert() }),
      changed('kind', 'error_rate', null),
    ],
    [named('rotateAlertSecret')]: async () => {
      const params = await newAlert()
      return [await admin.call(named('rotateAlertSecret'), { params, body: {} })]
    },
  }
}

/** A user with a verified address. */
async function newVerified(email: string): Promise<{ phone: string; client: ManagementClient }> {
  const made = await newUser()
  await made.client.expect('changeEmail', 200, { body: { email, password: PASSWORD } })
  await made.client.expect('verifyEmail', 204, { body: { token: await mails.tokenTo(email) } })
  return made
}

/** A user with one-time passwords. The code of the step before the present one is used. */
async function newEnrolled(): Promise<{
  id: string
  client: ManagementClient
  secret: string
  answer: ManagementAnswer
}> {
  const made = await newUser()
  const secret = String((await made.client.expect('enrolTotp', 200, { body: { password: PASSWORD } })).json['secret'])
  const answer = await made.client.expect('confirmTotp', 200, { body: { code: codeOf(secret) } })
  return { ...made, secret, answer }
}

const SIGN_IN: Partial<Record<OperationName, Scenario>> = {
  resetPassword: async () => {
    const { phone } = await newVerified('reset@example.com')
    await admin.expect('forgotPassword', 204, { body: { phone } })
    const token = await mails.tokenTo('reset@example.com', 2)
    const body = { token, new_password: 'another fine password' }
    const answer = await admin.expect('resetPassword', 204, { body, token: null })
    return [answer, changed('user_id', null, expect.stringMatching(/^user_/))]
  },
  changeEmail: async () => {
    const { client } = await newVerified('removed@example.com')
    const answer = await client.expect('changeEmail', 200, { body: { email: null, password: PASSWORD } })
    return [answer, changed('email', 'removed@example.com', null), changed('email_verified', true, false)]
  },
  verifyEmail: async () => {
    const { client } = await newUser()
    await client.expect('changeEmail', 200, { body: { email: 'proven@example.com', password: PASSWORD } })
    const token = await mails.tokenTo('proven@example.com')
    const answer = await client.expect('verifyEmail', 204, { body: { token } })
    return [answer, changed('email', null, 'proven@example.com'), changed('email_verified', false, true)]
  },
  enrolTotp: async () => [await (await newUser()).client.expect('enrolTotp', 200, { body: { password: PASSWORD } })],
  confirmTotp: async () => [(await newEnrolled()).answer, changed('totp', false, true)],
  renewRecoveryCodes: async () => {
    const { client } = await newEnrolled()
    return [await client.expect('renewRecoveryCodes', 200, { body: { password: PASSWORD } })]
  },
  disableTotp: async () => {
    const { client, secret } = await newEnrolled()
    const body = { password: PASSWORD, code: codeOf(secret, 1) }
    return [await client.expect('disableTotp', 204, { body }), changed('totp', true, false)]
  },
  adminResetTotp: async () => [
    await admin.expect('adminResetTotp', 204, { params: { id: (await newEnrolled()).id } }),
    changed('totp', true, false),
  ],
}

const newToolServer = async (): Promise<string> => {
  last += 1
  const body = {
    id: `tools-${last}`,
    url: 'https://tools.example.com/mcp',
    headers: { authorization: 'Bearer sk-tools' },
  }
  return idOf(make('adminCreateToolServer', { body: { ...body, enabled: false } }))
}

const TOOL_SERVERS: Partial<Record<OperationName, Scenario>> = {
  adminCreateToolServer: async () => [
    await admin.expect('adminCreateToolServer', 201, {
      body: { id: 'created', url: 'https://tools.example.com/mcp', enabled: false, price_micro: 5 },
    }),
    changed('price_micro', null, 5),
  ],
  adminUpdateToolServer: async () => [
    await admin.expect('adminUpdateToolServer', 200, {
      params: { id: await newToolServer() },
      body: { price_micro: 7 },
    }),
    changed('price_micro', 0, 7),
  ],
  adminDeleteToolServer: async () => [
    await admin.expect('adminDeleteToolServer', 204, { params: { id: await newToolServer() } }),
    changed('url', 'https://tools.example.com/mcp', null),
  ],
  adminDecideServerTools: async () => {
    const upstream = await UpstreamToolServer.start()
    upstream.tools = [{ name: 'run', description: 'Runs.' }]
    const params = { id: 'decided' }
    await make('adminCreateToolServer', { body: { id: 'decided', url: upstream.url } })
    await admin.expect('adminRefreshToolServer', 200, { params })
    const { json } = await admin.expect('adminListServerTools', 200, { params })
    const [tool] = json['data'] as Array<{ digest: string }>
    const digest = tool?.digest ?? ''
    const body = { allow: [{ server_tool: 'run', digest }] }
    const answer = await admin.expect('adminDecideServerTools', 204, { params, body })
    await upstream.stop()
    return [answer, changed('run', null, digest)]
  },
}

/** Each makes one change, and returns its answer with some of the fields that its row must have. */
const SCENARIOS: Partial<Record<OperationName, Scenario>> = {
  endSession: async () => {
    const { client } = await newUser()
    const { json } = await client.expect('listSessions', 200)
    const [session] = json['data'] as Array<{ id: string }>
    return [await client.expect('endSession', 204, { params: { id: session?.id ?? '' } })]
  },
  ...SIGN_IN,
  ...TOOL_SERVERS,
  ...alertScenarios(''),
  ...alertScenarios('admin'),
  updateSummary: async () => [
    await admin.expect('updateSummary', 200, {
      params: { id },
      body: { frequency: 'off', recipients: ['a@example.com'] },
    }),
    changed('recipients', [], ['a@example.com']),
  ],
  register: async () => {
    const { token } = await make('invite', { body: { email: 'new@example.com', role: 'employee' } })
    const body = { phone: '+12025558999', password: PASSWORD, name: 'New', invitation_token: token }
    return [await admin.expect('register', 200, { body }), changed('email', null, 'new@example.com')]
  },
  eraseBodies: async () => {
    const params = { id: await capturedRequest((await make('createKey', { body: CAPTURE }, user))['key']) }
    return [await user.expect('eraseBodies', 204, { params }), changed('captured', true, false)]
  },
  eraseAllBodies: async () => [await user.expect('eraseAllBodies', 204), changed('bodies', 'all', null)],
  eraseEnterpriseBodies: async () => {
    const params = { id, logId: await capturedOfEnterprise() }
    return [await admin.expect('eraseEnterpriseBodies', 204, { params }), changed('captured', true, false)]
  },
  eraseAllEnterpriseBodies: async () => [
    await admin.expect('eraseAllEnterpriseBodies', 204, { params: { id } }),
    changed('bodies', 'all', null),
  ],
  adminEraseBodies: async () => {
    const params = { id: await capturedOfEnterprise() }
    return [await admin.expect('adminEraseBodies', 204, { params }), changed('captured', true, false)]
  },
  logout: async () => [await (await newUser()).client.expect('logout', 204)],
  changePassword: async () => {
    const body = { old_password: PASSWORD, new_password: 'another fine password' }
    return [await (await newUser()).client.expect('changePassword', 200, { body })]
  },
  createKey: async () => [
    await user.expect('createKey', 201, { body: { name: 'k', rpm: 5 } }),
    changed('name', null, 'k'),
    changed('rpm', null, 5),
    changed('key', null, '[hidden]'),
  ],
  updateKey: async () => {
    const params = { id: await idOf(make('createKey', { body: { name: 'k', models: ['a'] } }, user)) }
    const answer = await user.expect('updateKey', 200, { params, body: { name: 'l', models: ['a', 'b'], tpm: 7 } })
    return [answer, changed('name', 'k', 'l'), changed('models', ['a'], ['a', 'b']), changed('tpm', null, 7)]
  },
  deleteKey: async () => {
    const params = { id: await idOf(make('createKey', { body: { name: 'k' } }, user)) }
    return [await user.expect('deleteKey', 204, { params }), changed('name', 'k', null)]
  },
  toggleKey: async () => {
    const params = { id: await idOf(make('createKey', { body: { name: 'k' } }, user)) }
    return [await user.expect('toggleKey', 200, { params }), changed('enabled', true, false)]
  },
  rotateKey: async () => {
    const params = { id: await idOf(make('createKey', { body: { name: 'k' } }, user)) }
    const before = await user.expect('getKey', 200, { params })
    const answer = await user.expect('rotateKey', 200, { params, body: {} })
    return [answer, changed('key_masked', before.json['key_masked'], answer.json['key_masked'])]
  },
  adminCreateUser: async () => {
    const body = { phone: '+12025558998', name: 'Eve', password: PASSWORD }
    return [await admin.expect('adminCreateUser', 201, { body }), changed('phone', null, body.phone)]
  },
  adminUpdateUser: async () => {
    const params = { id: (await newUser()).id }
    const body = { name: 'Bea', email: 'bea@example.com', status: 'disabled', password: 'a password of hers' }
    return [
      await admin.expect('adminUpdateUser', 200, { params, body }),
      changed('name', 'Ada', 'Bea'),
      changed('email', null, 'bea@example.com'),
      changed('status', 'active', 'disabled'),
    ]
  },
  adminDeleteUser: async () => {
    const { id: userId, phone } = await newUser()
    return [await admin.expect('adminDeleteUser', 204, { params: { id: userId } }), changed('phone', phone, null)]
  },
  acceptInvitation: async () => {
    const { phone, client } = await newUser()
    const { token } = await make('invite', { body: { phone, role: 'finance' } })
    return [
      await client.expect('acceptInvitation', 200, { body: { token } }),
      changed('status', 'pending', 'accepted'),
      changed('enterprise_id', null, id),
      changed('role', null, 'finance'),
    ]
  },
  invite: async () => [
    await admin.expect('invite', 201, { params: { id }, body: { email: 'a@example.com', role: 'admin' } }),
    changed('email', null, 'a@example.com'),
    changed('role', null, 'admin'),
    changed('token', null, '[hidden]'),
  ],
  cancelInvitation: async () => {
    const invitationId = await idOf(make('invite', { body: { email: 'a@example.com', role: 'admin' } }))
    const answer = await admin.expect('cancelInvitation', 204, { params: { id, invitationId } })
    return [answer, changed('status', 'pending', 'cancelled')]
  },
  resendInvitation: async () => {
    const invitationId = await idOf(make('invite', { body: { email: 'a@example.com', role: 'admin' } }))
    const answer = await admin.expect('resendInvitation', 200, { params: { id, invitationId } })
    return [answer, changed('expires_at', null, answer.json['expires_at'])]
  },
  leaveEnterprise: async () => {
    const { phone, client } = await newUser()
    const { token } = await make('invite', { body: { phone, role: 'finance' } })
    await client.expect('acceptInvitation', 200, { body: { token } })
    return [await client.expect('leaveEnterprise', 204, { params: { id } }), changed('role', 'finance', null)]
  },
  updateMember: async () => {
    const params = { id, memberId: await newMember() }
    const answer = await admin.expect('updateMember', 200, { params, body: { role: 'admin', monthly_budget: 9 } })
    return [answer, changed('role', 'employee', 'admin'), changed('monthly_budget', null, 9)]
  },
  removeMember: async () => {
    const params = { id, memberId: await newMember() }
    return [await admin.expect('removeMember', 204, { params }), changed('role', 'employee', null)]
  },
  adminCreateEnterprise: async () => [
    await admin.expect('adminCreateEnterprise', 201, { body: { name: 'New', rpm: 8 } }),
    changed('name', null, 'New'),
    changed('rpm', null, 8),
  ],
  adminUpdateEnterprise: async () => [
    await admin.expect('adminUpdateEnterprise', 200, { params: { id }, body: { rpm: 1_000, is_prepaid: true } }),
    changed('rpm', null, 1_000),
    changed('is_prepaid', false, true),
  ],
  updateEnterprise: async () => [
    await admin.expect('updateEnterprise', 200, { params: { id }, body: { time_zone: 'Europe/Berlin' } }),
    changed('time_zone', 'UTC', 'Europe/Berlin'),
  ],
  deleteEnterprise: async () => {
    const params = { id: await idOf(make('adminCreateEnterprise', { body: { name: 'Gone' } })) }
    return [await admin.expect('deleteEnterprise', 204, { params }), changed('name', 'Gone', null)]
  },
  adminDeleteEnterprise: async () => {
    const params = { id: await idOf(make('adminCreateEnterprise', { body: { name: 'Gone' } })) }
    return [await admin.expect('adminDeleteEnterprise', 204, { params }), changed('name', 'Gone', null)]
  },
  askToJoin: async () => {
    const { client } = await newUser()
    const answer = await client.expect('askToJoin', 201, { params: { id }, body: { message: 'please' } })
    return [answer, changed('message', null, 'please')]
  },
  approveJoinRequest: async () => {
    const { params } = await askToJoin()
    const answer = await admin.expect('approveJoinRequest', 200, { params })
    return [answer, changed('status', 'pending', 'approved'), changed('member.role', null, 'employee')]
  },
  rejectJoinRequest: async () => {
    const { params } = await askToJoin()
    return [await admin.expect('rejectJoinRequest', 200, { params }), changed('status', 'pending', 'rejected')]
  },
  withdrawJoinRequest: async () => {
    const { client, params } = await askToJoin()
    return [await client.expect('withdrawJoinRequest', 204, { params }), changed('status', 'pending', 'cancelled')]
  },
  createDepartment: async () => [
    await admin.expect('createDepartment', 201, { params: { id }, body: { name: 'Research' } }),
    changed('name', null, 'Research'),
  ],
  updateDepartment: async () => {
    const departmentId = await idOf(make('createDepartment', { body: { name: 'Old', monthly_budget: 1 } }))
    const body = { name: 'New', monthly_budget: null }
    const answer = await admin.expect('updateDepartment', 200, { params: { id, departmentId }, body })
    return [answer, changed('name', 'Old', 'New'), changed('monthly_budget', 1, null)]
  },
  deleteDepartment: async () => {
    const departmentId = await idOf(make('createDepartment', { body: { name: 'Old' } }))
    const answer = await admin.expect('deleteDepartment', 204, { params: { id, departmentId } })
    return [answer, changed('name', 'Old', null)]
  },
  topUpWallet: async () => {
    const { json } = await admin.expect('getWallet', 200, { params: { id } })
    const balance = Number(json['balance'])
    const body = { amount: 50, currency: 'USD', reference: 'one' }
    const answer = await admin.expect('topUpWallet', 200, { params: { id }, body })
    return [answer, changed('balance', balance, balance + 50)]
  },
  receivePayment: async () => {
    const { json } = await admin.expect('getWallet', 200, { params: { id } })
    const balance = Number(json['balance'])
    return [await pay('two'), changed('balance', balance, balance + 30)]
  },
  adminAdjustWallet: async () => {
    const { json } = await admin.expect('getWallet', 200, { params: { id } })
    const balance = Number(json['balance'])
    const body = { kind: 'adjustment', amount: 5, reference: 'a' }
    const answer = await admin.expect('adminAdjustWallet', 200, { params: { id }, body })
    return [answer, changed('balance', balance, balance + 5)]
  },
  createEnterpriseKey: async () => [
    await admin.expect('createEnterpriseKey', 201, { params: { id }, body: { name: 'shared', monthly_tokens: 3 } }),
    changed('name', null, 'shared'),
    changed('monthly_tokens', null, 3),
    changed('key', null, '[hidden]'),
  ],
  updateEnterpriseKey: async () => {
    const params = { id, keyId: await newKey() }
    const answer = await admin.expect('updateEnterpriseKey', 200, { params, body: { monthly_budget: 6 } })
    return [answer, changed('monthly_budget', null, 6)]
  },
  deleteEnterpriseKey: async () => {
    const params = { id, keyId: await newKey() }
    return [await admin.expect('deleteEnterpriseKey', 204, { params }), changed('name', 'k', null)]
  },
  toggleEnterpriseKey: async () => {
    const params = { id, keyId: await newKey() }
    return [await admin.expect('toggleEnterpriseKey', 200, { params }), changed('enabled', true, false)]
  },
  rotateEnterpriseKey: async () => {
    const params = { id, keyId: await newKey() }
    const before = await admin.expect('getEnterpriseKey', 200, { params })
    const answer = await admin.expect('rotateEnterpriseKey', 200, { params, body: {} })
    return [answer, changed('key_masked', before.json['key_masked'], answer.json['key_masked'])]
  },
  adminCreateUpstream: async () => {
    const upstream = { id: 'own', provider: 'openai', models: ['own-model'] }
    const body = { ...upstream, headers: { 'x-a': 'a secret header' }, keys: [{ credential: 'sk-secret-of-own' }] }
    return [await admin.expect('adminCreateUpstream', 201, { body }), changed('source', null, 'stored')]
  },
  adminUpdateUpstream: async () => {
    const params = { id: await newUpstream() }
    const answer = await admin.expect('adminUpdateUpstream', 200, { params, body: { enabled: false } })
    return [answer, changed('enabled', true, false)]
  },
  adminDeleteUpstream: async () => {
    const params = { id: await newUpstream() }
    return [await admin.expect('adminDeleteUpstream', 204, { params }), changed('source', 'stored', null)]
  },
  adminCreateUpstreamKey: async () => {
    const params = { id: await newUpstream() }
    const body = { credential: 'sk-secret-another', name: 'second' }
    return [await admin.expect('adminCreateUpstreamKey', 201, { params, body }), changed('name', null, 'second')]
  },
  adminUpdateUpstreamKey: async () => {
    const upstreamId = await newUpstream()
    const body = { credential: 'sk-secret-before-123', weight: 1 }
    const made = (await admin.expect('adminCreateUpstreamKey', 201, { params: { id: upstreamId }, body })).json
    const params = { id: upstreamId, keyId: String(made['id']) }
    const fresh = { credential: 'sk-secret-after-4567', weight: 4 }
    const answer = await admin.expect('adminUpdateUpstreamKey', 200, { params, body: fresh })
    const masked = changed('credential_masked', made['credential_masked'], answer.json['credential_masked'])
    return [answer, changed('weight', 1, 4), masked]
  },
  adminDeleteUpstreamKey: async () => {
    const upstreamId = await newUpstream()
    const body = { credential: 'sk-secret-leaving', name: 'leaving' }
    const keyId = await idOf(make('adminCreateUpstreamKey', { params: { id: upstreamId }, body }))
    const answer = await admin.expect('adminDeleteUpstreamKey', 204, { params: { id: upstreamId, keyId } })
    return [answer, changed('name', 'leaving', null)]
  },
  adminReplaceModels: async () => {
    const models = (input: number): Sent => ({ body: { models: [{ id: 'some', prices: { input, output: 0 } }] } })
    await admin.expect('adminReplaceModels', 200, models(2_000))
    return [await admin.expect('adminReplaceModels', 200, models(3_000)), changed('some.prices.input', 2_000, 3_000)]
  },
  adminUpdateModel: async () => {
    const params = { id: 'other' }
    await admin.expect('adminUpdateModel', 200, { params, body: { context_tokens: 1_000 } })
    const answer = await admin.expect('adminUpdateModel', 200, { params, body: { context_tokens: 2_000 } })
    return [answer, changed('settings.context_tokens', 1_000, 2_000)]
  },
  adminDeleteModel: async () => {
    const params = { id: 'third' }
    await admin.expect('adminUpdateModel', 200, { params, body: { context_tokens: 1_000 } })
    const answer = await admin.expect('adminDeleteModel', 204, { params })
    return [answer, changed('settings.context_tokens', 1_000, null)]
  },
  adminPutModelGroup: async () => {
    const params = { id: 'small' }
    await admin.expect('adminPutModelGroup', 200, { params, body: { models: ['sim-gpt'] } })
    const answer = await admin.expect('adminPutModelGroup', 200, { params, body: { models: ['sim-*'] } })
    return [answer, changed('models', ['sim-gpt'], ['sim-*'])]
  },
  adminDeleteModelGroup: async () => {
    const params = { id: 'leaving' }
    await admin.expect('adminPutModelGroup', 200, { params, body: { models: ['sim-gpt'] } })
    const answer = await admin.expect('adminDeleteModelGroup', 204, { params })
    return [answer, changed('models', ['sim-gpt'], null)]
  },
}

interface Row {
  readonly operation: string
  readonly outcome: string
  readonly request_id: string
  readonly changes: unknown[] | null
}

async function rowOf(name: OperationName, answer: ManagementAnswer): Promise<Row | undefined> {
  const { json } = await admin.expect('adminAudit', 200, { query: { operation: name, limit: '100' } })
  return (json['data'] as Row[]).find((row) => row.request_id === answer.headers.get('x-request-id'))
}

const CHANGES = (Object.entries(OPERATIONS) as Array<[OperationName, OperationSpec]>).flatMap(([name, { method }]) =>
  method === 'GET' || Object.hasOwn(WITHOUT_ROW, name) ? [] : [name],
)

describe('the audit log', () => {
  it('has a test of each change', () => {
    expect(CHANGES.filter((name) => SCENARIOS[name] === undefined)).toEqual([])
  })

  it.each(firstCases(20, CHANGES))('has a row of %s with its values', async (name) => {
    const scenario = SCENARIOS[name]
    if (scenario === undefined) throw new Error(`${name} needs a scenario, or a reason to have no row`)
    const [answer, ...expected] = await scenario()
    const row = await rowOf(name, answer)
    expect(row).toMatchObject({ operation: name, outcome: 'done' })
    if (WITHOUT_VALUES[name] !== undefined) {
      expect([row?.changes, expected]).toEqual([null, []])
      return
    }
    expect(expected.length).toBeGreaterThan(0)
    expect(row?.changes).toEqual(expect.arrayContaining(expected))
    const fields = (row?.changes ?? []).map((change) => (change as { field: string }).field)
    for (const field of fields) expect(field).not.toMatch(/^(id|spend|created_at|updated_at)$/)
  })

  it('of an enterprise has its changes whose path does not name it, and looks of admins at its bodies', async () => {
    const { phone, client } = await newUser()
    const { token } = await make('invite', { body: { phone, role: 'finance' } })
    const opened = await make('invite', { body: { email: 'registers@example.com', role: 'employee' } })
    const account = { phone: '+12025558997', password: PASSWORD, name: 'New', invitation_token: opened['token'] }
    const bodies = { bodies: 'true', enterprise_id: id }
    const answers = {
      acceptInvitation: await client.expect('acceptInvitation', 200, { body: { token } }),
      register: await client.expect('register', 200, { body: account, token: null }),
      receivePayment: await pay('three'),
      adminEraseBodies: await admin.expect('adminEraseBodies', 204, { params: { id: await capturedOfEnterprise() } }),
      adminExportLogs: await admin.expect('adminExportLogs', 200, { query: bodies }),
      // Of another user, the filter does not make it a look at that enterprise.
      exportLogs: await user.expect('exportLogs', 200, { query: bodies }),
    }
    const { json } = await admin.expect('listEnterpriseAudit', 200, { params: { id }, query: { limit: '100' } })
    const listed = (json['data'] as Row[]).map(({ request_id: requestId }) => requestId)
    const missing = Object.entries(answers).flatMap(([name, { headers }]) =>
      listed.includes(headers.get('x-request-id') ?? '') ? [] : [name],
    )
    expect(missing).toEqual(['exportLogs'])
  })

  it('tells only what changed, and an empty list when nothing did', async () => {
    const params = { id, keyId: await newKey() }
    const answer = await admin.expect('updateEnterpriseKey', 200, { params, body: { rpm: 4, name: 'k' } })
    expect((await rowOf('updateEnterpriseKey', answer))?.changes).toEqual([changed('rpm', null, 4)])
    const again = await admin.expect('updateEnterpriseKey', 200, { params, body: { rpm: 4 } })
    expect((await rowOf('updateEnterpriseKey', again))?.changes).toEqual([])
  })

  it('tells the values that a change found, however many come at the same time', async () => {
    const params = { id, keyId: await newKey() }
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        admin.expect('updateEnterpriseKey', 200, { params, body: { rpm: index + 1 } }),
      ),
    )
    const rows = await Promise.all(answers.map((answer) => rowOf('updateEnterpriseKey', answer)))
    const steps = new Map(
      rows.map((row) => {
        const [only] = row?.changes as Array<{ old: unknown; new: unknown }>
        return [only?.old, only?.new]
      }),
    )
    // The changes form one chain from null to what the key has now.
    let value: unknown = null
    for (let step = 0; step < answers.length; step++) value = steps.get(value)
    expect(value).toBe((await admin.expect('getEnterpriseKey', 200, { params })).json['rpm'])
  })

  it('has no secret', async () => {
    let text = ''
    let cursor: string | null = null
    do {
      const query: Record<string, string> = { limit: '100', ...(cursor === null ? {} : { cursor }) }
      const page = await admin.expect('adminAudit', 200, { query })
      text += page.text
      cursor = page.json['next_cursor'] as string | null
    } while (cursor !== null)
    for (const secret of [
      PASSWORD,
      'another fine password',
      'a password of hers',
      'a secret header',
      'sk-secret',
      PAYMENT_SECRET,
    ]) {
      expect(text).not.toContain(secret)
    }
    expect(text).not.toMatch(/sk-[A-Za-z0-9]{40}/)
  })
})
