import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { OperationSpec } from '../../../src/api/operation.ts'
import { OPERATIONS } from '../../../src/api/operations/index.ts'
import type { OperationName } from '../../../src/api/operations/index.ts'
import { ENTERPRISE_ACTIONS, mayDo } from '../../../src/api/roles.ts'
import type { EnterpriseRole } from '../../../src/api/roles.ts'
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
const members = new Map<EnterpriseRole, ManagementClient>()
const useless = new Map<string, string | null>()

beforeAll(async () => {
  gateway = await startGateway()
  admin = await ManagementClient.ofAdmin(gateway)
  const enterprise = async (): Promise<string> =>
    String((await admin.expect('adminCreateEnterprise', 201, { body: { name: 'Acme' } })).json['id'])
  enterpriseId = await enterprise()
  foreignId = await enterprise()
  for (const [index, role] of ROLES.entries()) {
    const { client } = await newUser(`+1202555300${index}`)
    const invited = await admin.expect('invite', 201, {
      params: { id: enterpriseId },
      body: { email: 'a@example.com', role },
    })
    await client.expect('acceptInvitation', 200, { body: { token: invited.json['token'] } })
    members.set(role, client)
  }
  const loggedOut = await newUser('+12025553010')
  useless.set('revoked', loggedOut.client.token)
  await loggedOut.client.expect('logout', 204)
  const disabled = await newUser('+12025553011')
  useless.set('of a disabled user', disabled.client.token)
  await admin.expect('adminUpdateUser', 200, { params: { id: disabled.id }, body: { status: 'disabled' } })
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

/** What is sent has nothing that an operation could do anything with: only who calls is told. */
const sent = (id: string) => ({
  params: { id, memberId: 'x', departmentId: 'x', keyId: 'x', requestId: 'x', invitationId: 'x' },
})

async function outcome(client: ManagementClient, name: OperationName, id: string): Promise<string> {
  const { status, json } = await client.call(name, sent(id))
  return status < 400 ? 'allowed' : String((json['error'] as { code: string }).code)
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

describe.each(ALL.filter(([, { access }]) => access === 'platform-admin' || access === 'scraper'))('%s', (name) => {
  it('is for admins of the platform alone', async () => {
    const owner = members.get('owner')
    if (owner === undefined) throw new Error('no owner')
    expect(await outcome(owner, name, enterpriseId)).toBe('ROLE_DENIED')
  })
})
