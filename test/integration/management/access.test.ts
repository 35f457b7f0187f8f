import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadOrCreateSecrets } from '../../../src/shared/config/secrets.ts'
import type { OperationSpec } from '../../../src/shared/api/operation.ts'
import { OPERATIONS } from '../../../src/shared/api/operations/index.ts'
import type { OperationName } from '../../../src/shared/api/operations/index.ts'
import { ENTERPRISE_ACTIONS, mayDo } from '../../../src/shared/api/roles.ts'
import type { EnterpriseRole } from '../../../src/shared/api/roles.ts'
import { eventually } from '../../support/eventually.ts'
import { readToken, signed } from '../../support/forged-tokens.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'

const PASSWORD = 'correct horse battery'
const ROLES = ['owner', 'admin', 'finance', 'employee'] as const
const ALL = Object.entries(OPERATIONS) as ReadonlyArray<readonly [OperationName, OperationSpec]>

let gateway: TestGateway
let admin: ManagementClient
let enterpriseId: string
let foreignId: string
let disabledId: string
/** A user of no enterprise. */
let nobody: ManagementClient
/** Ids of what the foreign enterprise has, and another user. */
let foreign: Readonly<Record<string, string>>
const members = new Map<EnterpriseRole, ManagementClient>()
const useless = new Map<string, string | null>()

beforeAll(async () => {
  gateway = await startGateway()
  admin = await ManagementClient.ofAdmin(gateway)
  const enterprise = async (): Promise<string> =>
    String((await admin.expect('adminCreateEnterprise', 201, { body: { name: 'Acme' } })).json['id'])
  enterpriseId = await enterprise()
  foreignId = await enterprise()
  disabledId = await enterprise()
  for (const [index, role] of ROLES.entries()) {
    const phone = `+1202555300${index}`
    const { client } = await newUser(phone)
    for (const id of [enterpriseId, disabledId]) {
      const invited = await admin.expect('invite', 201, { params: { id }, body: { phone, role } })
      await client.expect('acceptInvitation', 200, { body: { token: invited.json['token'] } })
    }
    members.set(role, client)
  }
  await admin.expect('adminUpdateEnterprise', 200, { params: { id: disabledId }, body: { status: 'disabled' } })
  nobody = (await newUser('+12025553012')).client
  foreign = await makeForeign()
  const loggedOut = await newUser('+12025553010')
  useless.set('revoked', loggedOut.client.token)
  await loggedOut.client.expect('logout', 204)
  const disabled = await newUser('+12025553011')
  useless.set('of a disabled user', disabled.client.token)
  await admin.expect('adminUpdateUser', 200, { params: { id: disabled.id }, body: { status: 'disabled' } })
  const [key] = loadOrCreateSecrets(gateway.dataDir).jwtKeys
  const { header, claims } = readToken(admin.token ?? '')
  useless.set('expired', signed(header, { ...claims, exp: Math.floor(Date.now() / 1000) - 1 }, key.secret))
  useless.set('none', null)
  useless.set('bad', 'eyJhbGciOiJub25lIn0.e30.')
  useless.set('an API key', gateway.apiKey)
}, 120_000)

afterAll(async () => {
  await gateway.stop()
})

async function newUser(phone: string): Promise<{ client: ManagementClient; id: string }> {
  const { json } = await admin.expect('adminCreateUser', 201, { body: { phone, name: 'Ada', password: PASSWORD } })
  const client = new ManagementClient(gateway.url)
  await client.login(phone, PASSWORD)
  return { client, id: String(json['id']) }
}

async function makeForeign(): Promise<Record<string, string>> {
  const params = { id: foreignId }
  const make = async (name: OperationName, body: object): Promise<string> =>
    String((await admin.expect(name, 201, { params, body })).json['id'])
  const asker = await newUser('+12025553013')
  const asked = await asker.client.expect('askToJoin', 201, { params, body: {} })
  const joined = await newUser('+12025553014')
  const invited = await admin.expect('invite', 201, { params, body: { phone: '+12025553014', role: 'owner' } })
  await joined.client.expect('acceptInvitation', 200, { body: { token: invited.json['token'] } })
  const { json } = await admin.expect('listMembers', 200, { params })
  const key = await admin.expect('createEnterpriseKey', 201, { params, body: { name: 'theirs' } })
  return {
    memberId: (json['data'] as Array<{ id: string }>)[0]?.id ?? '',
    departmentId: await make('createDepartment', { name: 'Theirs' }),
    keyId: String(key.json['id']),
    logId: await makeForeignLog(params, String(key.json['key'])),
    invitationId: await make('invite', { email: 'c@example.com', role: 'employee' }),
    requestId: String(asked.json['id']),
    ...(await makeForeignAlert(params)),
    id: String((await admin.expect('createKey', 201, { body: { name: 'theirs' } })).json['id']),
  }
}

/** The id of a request in the log of the enterprise. */
async function makeForeignLog(params: { readonly id: string }, key: string): Promise<string> {
  const body = JSON.stringify({ model: 'sim-gpt', messages: [{ role: 'user', content: 'hi' }] })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body })
  return eventually(async () => {
    const { json } = await admin.expect('enterpriseLogs', 200, { params })
    const [row] = json['data'] as Array<{ id: string }>
    expect(row).toBeDefined()
    return row?.id ?? ''
  })
}

async function makeForeignAlert(params: { readonly id: string }): Promise<Record<string, string>> {
  const body = { kind: 'budget', channels: [{ webhook: 'https://hooks.example.com/theirs' }] }
  const { json } = await admin.expect('createAlert', 201, { params, body })
  return { alertId: String(json['id']), channelId: (json['channels'] as Array<{ id: string }>)[0]?.id ?? '' }
}

/** Ids of nothing. */
const NOTHING_WITHIN = {
  memberId: 'x',
  departmentId: 'x',
  keyId: 'x',
  requestId: 'x',
  invitationId: 'x',
  alertId: 'x',
  channelId: 'x',
  logId: 'x',
}

/** What is sent has nothing that an operation could do anything with: only who calls is told. */
const sent = (id: string) => ({
  params: { ...NOTHING_WITHIN, id },
})

async function outcome(client: ManagementClient, name: OperationName, id: string): Promise<string> {
  // A deletion needs nothing that is sent: no enterprise has this entity tag.
  const isForGood = name === 'deleteEnterprise' || name === 'leaveEnterprise'
  const headers = isForGood ? { 'if-match': '"x"' } : {}
  const { status, json } = await client.call(name, { ...sent(id), headers })
  return status < 400 ? 'allowed' : String((json['error'] as { code: string }).code)
}

/** Everything of an answer but what names the request. */
async function told(client: ManagementClient, name: OperationName, params: Record<string, string>): Promise<unknown> {
  const { headers, status, text } = await client.call(name, { params })
  const requestId = headers.get('x-request-id') ?? ''
  const ofAll = [...headers].filter(([header]) => !['date', 'x-request-id'].includes(header))
  return [status, ofAll, text.replaceAll(requestId, '')]
}

const isEnterprises = ({ access }: OperationSpec): boolean => Object.hasOwn(ENTERPRISE_ACTIONS, access)
const enterpriseOperations = ALL.filter(([, spec]) => isEnterprises(spec))

describe.each(ALL.filter(([, { access }]) => access !== 'everyone'))('%s', (name) => {
  it('takes no token that is worth nothing', async () => {
    for (const [kind, token] of useless) {
      const { status, json } = await admin.call(name, { ...sent('x'), token })
      expect([kind, status, (json['error'] as { code: string }).code]).toEqual([kind, 401, 'TOKEN_INVALID'])
    }
  })
})

describe.each(enterpriseOperations)('%s', (name, { access }) => {
  it('is for the roles of the table, and for nobody of another enterprise', async () => {
    for (const role of ROLES) {
      const client = members.get(role)
      if (client === undefined) throw new Error('no member')
      const own = await outcome(client, name, enterpriseId)
      const isAllowed = mayDo(role, access as keyof typeof ENTERPRISE_ACTIONS)
      expect([role, own === 'ROLE_DENIED']).toEqual([role, !isAllowed])
      expect([role, await outcome(client, name, foreignId)]).toEqual([role, 'NOT_FOUND'])
      expect([role, await outcome(client, name, 'ent_x')]).toEqual([role, 'NOT_FOUND'])
    }
  })
})

describe.each(ALL.filter(([, { bodiesAccess }]) => bodiesAccess !== undefined))('%s with bodies', (name, spec) => {
  const query = { bodies: 'true' }

  it('needs the right to read bodies besides, and is for nobody of another enterprise', async () => {
    for (const [role, client] of members) {
      const { status, json } = await client.call(name, { ...sent(enterpriseId), query })
      const code = status < 400 ? 'allowed' : String((json['error'] as { code: string }).code)
      expect([role, code === 'ROLE_DENIED']).toEqual([role, !mayRead(role, spec)])
      if (!isEnterprises(spec)) continue
      for (const id of [foreignId, 'ent_x']) {
        const foreignAnswer = await client.call(name, { ...sent(id), query })
        expect([role, foreignAnswer.status]).toEqual([role, 404])
      }
    }
  })
})

/** Requests of users are checked one by one: what is sent names none. */
function mayRead(role: EnterpriseRole, { access, bodiesAccess }: OperationSpec): boolean {
  return [access, bodiesAccess].every(
    (one) => one === 'user' || (one !== 'platform-admin' && mayDo(role, one as keyof typeof ENTERPRISE_ACTIONS)),
  )
}

describe.each(enterpriseOperations)('%s', (name) => {
  it('does nothing in an enterprise that is disabled, whatever the role', async () => {
    for (const role of ROLES) {
      const client = members.get(role)
      if (client === undefined) throw new Error('no member')
      expect([role, await outcome(client, name, disabledId)]).toEqual([role, 'ENTERPRISE_DISABLED'])
    }
  })

  it('tells no foreign enterprise from one that is none', async () => {
    const { id: _, ...theirs } = foreign
    for (const client of [nobody, ...members.values()]) {
      const missing = await told(client, name, { ...theirs, id: 'ent_x' })
      expect(await told(client, name, { ...theirs, id: foreignId })).toEqual(missing)
    }
  })
})

/** Those that name something within an enterprise, or something of a user. */
const within = ALL.filter(
  ([, { path, access }]) => /\{(?!id\})\w+\}/.test(path) && access !== 'platform-admin' && access !== 'everyone',
)
const ofUsers = ALL.filter(([, { path, access }]) => access === 'user' && /^\/api\/.*\{id\}/.test(path))

describe.each(within)('%s', (name) => {
  it('tells nothing that another enterprise has from what is not there', async () => {
    const owner = members.get('owner')
    if (owner === undefined) throw new Error('no owner')
    const missing = await told(owner, name, { ...NOTHING_WITHIN, id: enterpriseId })
    expect(missing).toEqual([404, expect.anything(), expect.stringContaining('NOT_FOUND')])
    expect(await told(owner, name, { ...foreign, id: enterpriseId })).toEqual(missing)
  })
})

describe.each(ofUsers)('%s', (name) => {
  it('tells nothing that another user has from what is not there', async () => {
    const missing = await told(nobody, name, { id: 'key_x' })
    expect(missing).toEqual([404, expect.anything(), expect.stringContaining('NOT_FOUND')])
    expect(await told(nobody, name, { id: foreign['id'] ?? '' })).toEqual(missing)
  })
})

describe.each(ALL.filter(([, { access }]) => access === 'platform-admin' || access === 'scraper'))('%s', (name) => {
  it('is for admins of the platform alone, whatever somebody is in an enterprise', async () => {
    for (const client of [nobody, ...members.values()]) {
      expect(await outcome(client, name, enterpriseId)).toBe('ROLE_DENIED')
      const missing = await told(client, name, { ...NOTHING_WITHIN, id: 'ent_x' })
      expect(await told(client, name, { ...NOTHING_WITHIN, id: enterpriseId })).toEqual(missing)
    }
  })
})
