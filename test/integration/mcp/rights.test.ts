import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { OPERATIONS } from '../../../src/shared/api/operations/index.ts'
import type { OperationSpec } from '../../../src/shared/api/operation.ts'
import { ENTERPRISE_ACTIONS, mayDo } from '../../../src/shared/api/roles.ts'
import type { EnterpriseAction } from '../../../src/shared/api/roles.ts'
import { OPERATION_TOOLS } from '../../../src/control/mcp/operation-table.ts'
import { connectMcp, textOf } from '../../support/mcp-clients.ts'
import { McpWorld } from '../../support/mcp-world.ts'

const ROLES = ['owner', 'admin', 'finance', 'employee'] as const
const FOR_EVERY_USER = ['list_models', 'chat_completion', 'create_embedding']

let world: McpWorld
let enterpriseId: string
let foreignId: string
/** The things of the foreign enterprise and of another user, by the name of the argument. */
let foreign: Readonly<Record<string, string>>
const clients = new Map<string, Client>()

const tools = Object.entries(OPERATION_TOOLS).map(([name, { operation }]) => {
  const spec: OperationSpec = OPERATIONS[operation]
  return { name, access: spec.access, isOfEnterprise: Object.hasOwn(ENTERPRISE_ACTIONS, spec.access), spec }
})

beforeAll(async () => {
  world = await McpWorld.start()
  enterpriseId = await world.enterprise('Acme')
  foreignId = await world.enterprise('Theirs')
  const connect = async (who: string, token: string): Promise<void> => {
    clients.set(who, await connectMcp(world.gateway.url, token))
  }
  for (const role of ROLES) await connect(role, (await world.member(enterpriseId, role)).token)
  await connect('nobody', (await world.user()).token)
  await connect('platform admin', world.admin.token ?? '')
  const params = { id: foreignId }
  const key = await world.admin.expect('createEnterpriseKey', 201, { params, body: { name: 'theirs' } })
  foreign = { enterprise_id: foreignId, key_id: String(key.json['id']), request_id: 'req_x' }
}, 120_000)

afterAll(async () => {
  for (const client of clients.values()) await client.close()
  await world.gateway.stop()
})

function clientOf(who: string): Client {
  const client = clients.get(who)
  if (client === undefined) throw new Error(`no client of ${who}`)
  return client
}

function maySee(who: string, access: OperationSpec['access'], isOfEnterprise: boolean): boolean {
  if (who === 'platform admin' || access === 'user') return true
  if (!isOfEnterprise || who === 'nobody') return false
  return mayDo(who as (typeof ROLES)[number], access as EnterpriseAction)
}

/** Arguments that name something of somebody else, and nothing that could be done with it. */
function argumentsFor(spec: OperationSpec, name: string): Record<string, string> {
  const { params = {} } = OPERATION_TOOLS[name] ?? {}
  const names = [...spec.path.matchAll(/\{(\w+)\}/g)].map(([, param = '']) => params[param] ?? 'enterprise_id')
  return Object.fromEntries(names.map((argument) => [argument, foreign[argument] ?? 'x']))
}

/** The names of the errors of a call: of a tool that is hidden, or of a result. */
async function outcome(client: Client, name: string, input: Record<string, unknown>): Promise<string> {
  try {
    const result = await client.callTool({ name, arguments: input })
    if (result.isError !== true) return 'done'
    return /\(([A-Z_]+)[,)]/.exec(textOf(result as { content: [] }))?.[1] ?? textOf(result as { content: [] })
  } catch (cause) {
    return String(cause).includes('Unknown tool') ? 'unknown tool' : String(cause)
  }
}

describe.each([...ROLES, 'nobody', 'platform admin'])('a user who is %s', (who) => {
  it('sees the tools that the role allows, and no other', async () => {
    const listed = (await clientOf(who).listTools()).tools.map(({ name }) => name)
    const expected = tools.filter(({ access, isOfEnterprise }) => maySee(who, access, isOfEnterprise))
    expect(listed.sort()).toEqual([...FOR_EVERY_USER, ...expected.map(({ name }) => name)].sort())
  })

  it.each(tools)('calls $name only when it is shown, and never for another tenant', async (tool) => {
    const { name, access, isOfEnterprise, spec } = tool
    const result = await outcome(clientOf(who), name, argumentsFor(spec, name))
    if (!maySee(who, access, isOfEnterprise)) expect(result).toBe('unknown tool')
    else if (who === 'platform admin') expect(result).not.toBe('unknown tool')
    else if (spec.path.includes('{')) expect(result).toBe('NOT_FOUND')
    else expect(['done', 'INVALID_FIELD']).toContain(result)
  })
})

describe('a tool of an enterprise', () => {
  it('is for the only enterprise of the user, without an argument', async () => {
    const result = await clientOf('owner').callTool({ name: 'get_enterprise', arguments: {} })
    expect(result.structuredContent).toMatchObject({ id: enterpriseId, name: 'Acme' })
  })

  it('asks for the enterprise when there is no single one', async () => {
    const result = await clientOf('platform admin').callTool({ name: 'get_wallet', arguments: {} })
    expect(result).toMatchObject({ isError: true })
    expect(textOf(result as { content: [] })).toContain('enterprise_id is missing')
  })
})

describe('a change by a tool', () => {
  it('is in the audit log, as one by the API', async () => {
    const made = await clientOf('owner').callTool({ name: 'create_enterprise_key', arguments: { name: 'by a tool' } })
    expect(made.structuredContent).toMatchObject({ name: 'by a tool', key: expect.stringMatching(/^sk-/) as string })
    const { id } = made.structuredContent as { id: string }
    const off = await clientOf('owner').callTool({
      name: 'toggle_enterprise_key',
      arguments: { key_id: id, enabled: false },
    })
    expect(off.structuredContent).toMatchObject({ id, enabled: false })
    const { json } = await world.admin.expect('adminAudit', 200, { query: { limit: '10' } })
    const done = (json['data'] as Array<{ operation: string }>).map(({ operation }) => operation)
    expect(done).toEqual(expect.arrayContaining(['createEnterpriseKey', 'toggleEnterpriseKey']))
  })
})
