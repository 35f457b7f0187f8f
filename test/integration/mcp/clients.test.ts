import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CuttableProxy } from '../../support/cuttable-proxy.ts'
import { itLater } from '../../support/dose.ts'
import { eventually } from '../../support/eventually.ts'
import { callTool, connectMcp, TRANSPORTS } from '../../support/mcp-clients.ts'
import { McpWorld } from '../../support/mcp-world.ts'
import type { McpUser } from '../../support/mcp-world.ts'

let world: McpWorld
let user: McpUser
let keyId: string

beforeAll(async () => {
  world = await McpWorld.start()
  user = await world.user()
  keyId = (await world.key(user)).id
}, 120_000)

afterAll(async () => {
  await world.gateway.stop()
})

/** Arguments of a chat completion that the simulator answers in this way. */
function chat(behaviour: object): Record<string, unknown> {
  return { model: 'sim-gpt', messages: [{ role: 'user', content: `[[sim ${JSON.stringify(behaviour)}]] Go on` }] }
}

describe.each(TRANSPORTS)('a client of the official SDK over %s', (kind) => {
  it('connects, lists and calls', async () => {
    const client = await connectMcp(world.gateway.url, user.token, kind)
    expect(client.getServerVersion()).toMatchObject({ name: 'sluice' })
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['list_keys', 'chat_completion']))
    const keys = await callTool(client, 'list_keys')
    expect(keys).toMatchObject({ data: [{ id: keyId }] })
    await client.close()
  })

  it('gets progress of a chat completion, which is a request in the log', async () => {
    const client = await connectMcp(world.gateway.url, user.token, kind)
    const told: string[] = []
    const result = await client.callTool(
      {
        name: 'chat_completion',
        arguments: chat({ eventsPerSecond: 10, tokens: 6 }),
      },
      undefined,
      { onprogress: ({ message }) => told.push(message ?? '') },
    )
    expect(result.isError).toBe(false)
    const { content, request_id: requestId } = result.structuredContent as { content: string; request_id: string }
    expect(content.length).toBeGreaterThan(0)
    expect(content.startsWith(told.join(''))).toBe(true)
    expect(told.length).toBeGreaterThan(1)
    expect(await world.gateway.logRow(requestId)).toMatchObject({
      status: 200,
      key_id: keyId,
      endpoint: 'chat.completions',
    })
    await client.close()
  })
  it('cancels a call, which ends the request to the model', async () => {
    const payer = await world.user()
    const key = await world.key(payer)
    const client = await connectMcp(world.gateway.url, payer.token, kind)
    const leave = new AbortController()
    const calling = client.callTool(
      { name: 'chat_completion', arguments: chat({ eventsPerSecond: 5, tokens: 400 }) },
      undefined,
      {
        signal: leave.signal,
        onprogress: () => {
          leave.abort('enough')
        },
      },
    )
    await expect(calling).rejects.toThrow('enough')
    const row = await eventually(async () => {
      const [one] = await world.gateway.logRows({ key_id: key.id })
      if (one === undefined) throw new Error('no row')
      return one
    })
    expect(row).toMatchObject({ aborted: true })
    expect(await callTool(client, 'list_keys')).toHaveProperty('data')
    await client.close()
  })

  itLater('goes on after its connections broke', async () => {
    const proxy = await CuttableProxy.start(world.gateway.url)
    const client = await connectMcp(proxy.url, user.token, kind)
    await callTool(client, 'list_keys')
    proxy.cut()
    await eventually(async () => {
      expect(await callTool(client, 'list_keys')).toHaveProperty('data')
    })
    await client.close()
    await proxy.close()
  })
})

describe('a client over streamable', () => {
  itLater('gets the result of a call whose stream broke', async () => {
    const proxy = await CuttableProxy.start(world.gateway.url)
    const client = await connectMcp(proxy.url, user.token)
    let isCut = false
    const result = await client.callTool(
      { name: 'chat_completion', arguments: chat({ eventsPerSecond: 10, tokens: 20 }) },
      undefined,
      {
        onprogress: () => {
          if (!isCut) proxy.cut()
          isCut = true
        },
      },
    )
    expect(isCut).toBe(true)
    expect(result).toMatchObject({ isError: false, structuredContent: { finish_reason: 'stop' } })
    await client.close()
    await proxy.close()
  })
})
