import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callTool, connectMcp, textOf, TRANSPORTS } from '../../support/mcp-clients.ts'
import { McpWorld } from '../../support/mcp-world.ts'
import type { McpUser } from '../../support/mcp-world.ts'

let world: McpWorld
let user: McpUser
let toolKey: { id: string; key: string }

const ASK = { model: 'sim-gpt', messages: [{ role: 'user', content: 'Hello there' }] }

beforeAll(async () => {
  world = await McpWorld.start()
  user = await world.user()
  toolKey = await world.key(user, { mcp_tools: ['chat_*', 'list_models'] })
}, 120_000)

afterAll(async () => {
  await world.gateway.stop()
})

describe.each(TRANSPORTS)('an entry key that is allowed tools, over %s', (kind) => {
  it('sees the tools that it is allowed, and pays itself', async () => {
    const client = await connectMcp(world.gateway.url, toolKey.key, kind)
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['list_models', 'chat_completion'])
    await expect(client.callTool({ name: 'create_embedding', arguments: {} })).rejects.toThrow('Unknown tool')
    await expect(client.callTool({ name: 'list_keys', arguments: {} })).rejects.toThrow('Unknown tool')
    const answer = await callTool(client, 'chat_completion', ASK)
    expect(answer).toMatchObject({ content: 'You said: Hello there', finish_reason: 'stop' })
    expect(await world.gateway.logRow(String(answer['request_id']))).toMatchObject({ key_id: toolKey.id, status: 200 })
    await client.close()
  })
})

describe('a key', () => {
  it('without mcp_tools gets 403, which names the field', async () => {
    const { key } = await world.key(user)
    const answer = await fetch(`${world.gateway.url}/mcp/tools`, { headers: { authorization: `Bearer ${key}` } })
    expect(answer.status).toBe(403)
    expect(await answer.json()).toMatchObject({ error: { code: 'TOOLS_DENIED', message: /mcp_tools/ } })
  })

  it('that is turned off is refused', async () => {
    const { id, key } = await world.key(user, { mcp_tools: ['*'] })
    await user.client.expect('toggleKey', 200, { params: { id }, body: { enabled: false } })
    const answer = await fetch(`${world.gateway.url}/mcp/tools`, { headers: { 'x-api-key': key } })
    expect(answer.status).toBe(401)
  })

  it('keeps to its models, its addresses and its clients', async () => {
    const narrow = await world.key(user, { mcp_tools: ['*'], models: ['sim-claude'] })
    const client = await connectMcp(world.gateway.url, narrow.key)
    const models = await callTool(client, 'list_models')
    expect(models['data']).toMatchObject([{ id: 'sim-claude' }])
    const refused = await client.callTool({ name: 'chat_completion', arguments: ASK })
    expect(textOf(refused as { content: [] })).toContain('MODEL_DENIED')
    await client.close()
    const elsewhere = await world.key(user, { mcp_tools: ['*'], ip_allow: ['203.0.113.0/24'] })
    const agents = await world.key(user, { mcp_tools: ['*'], client_allow: ['claude-code'] })
    const statusOf = async (key: string, userAgent: string): Promise<number> => {
      const headers = { authorization: `Bearer ${key}`, 'user-agent': userAgent }
      return (await fetch(`${world.gateway.url}/mcp/tools`, { headers })).status
    }
    expect(await statusOf(elsewhere.key, 'x')).toBe(403)
    expect(await statusOf(agents.key, 'x')).toBe(403)
    expect(await statusOf(agents.key, 'claude-code/1')).toBe(200)
  })

  it('refuses a bad entry of mcp_tools, and names it', async () => {
    const { json } = await user.client.expect('createKey', 400, { body: { name: 'x', mcp_tools: ['a b'] } })
    expect(json).toMatchObject({ error: { code: 'INVALID_FIELD', param: '/mcp_tools/0' } })
  })
})

describe('the key that pays for a user', () => {
  it('is the only one, or the one that is named; limits are those of the key', async () => {
    const payer = await world.user()
    const client = await connectMcp(world.gateway.url, payer.token)
    const none = await client.callTool({ name: 'chat_completion', arguments: ASK })
    expect(textOf(none as { content: [] })).toContain('create_key')
    const first = await world.key(payer)
    const answer = await callTool(client, 'chat_completion', ASK)
    expect(await world.gateway.logRow(String(answer['request_id']))).toMatchObject({ key_id: first.id })
    const second = await world.key(payer, { rpm: 1 })
    const several = await client.callTool({ name: 'chat_completion', arguments: ASK })
    expect(textOf(several as { content: [] })).toContain(second.id)
    const named = await callTool(client, 'chat_completion', { ...ASK, key_id: second.id })
    expect(await world.gateway.logRow(String(named['request_id']))).toMatchObject({ key_id: second.id })
    const limited = await client.callTool({ name: 'chat_completion', arguments: { ...ASK, key_id: second.id } })
    expect(textOf(limited as { content: [] })).toContain('RPM_EXCEEDED')
    const foreign = await client.callTool({ name: 'chat_completion', arguments: { ...ASK, key_id: toolKey.id } })
    expect(textOf(foreign as { content: [] })).toContain('/key_id')
    await client.close()
  })

  it('may be one that an enterprise has issued to the user', async () => {
    const enterpriseId = await world.enterprise('Acme')
    const member = await world.member(enterpriseId, 'employee')
    const { json } = await world.admin.expect('listMembers', 200, { params: { id: enterpriseId } })
    const [{ id: memberId } = { id: '' }] = json['data'] as Array<{ id: string }>
    const issued = await world.admin.expect('createEnterpriseKey', 201, {
      params: { id: enterpriseId },
      body: { name: 'issued', member_id: memberId },
    })
    const client = await connectMcp(world.gateway.url, member.token)
    const answer = await callTool(client, 'chat_completion', ASK)
    expect(await world.gateway.logRow(String(answer['request_id']))).toMatchObject({ key_id: issued.json['id'] })
    const vectors = await callTool(client, 'create_embedding', { model: 'sim-embed', input: ['a', 'b'] })
    expect(vectors['data']).toHaveLength(2)
    await client.close()
  })
})
