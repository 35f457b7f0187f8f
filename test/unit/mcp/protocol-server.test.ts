import { InMemoryTransport } from '@modelcontextprotocol/server'
import { expect, it } from 'vitest'
import { ModelList } from '../../../src/control/mcp/model-list.ts'
import { createProtocolServer } from '../../../src/control/mcp/protocol-server.ts'
import { Resources } from '../../../src/control/mcp/resources.ts'
import { Tools } from '../../../src/control/mcp/tools.ts'

function onFault(cause: unknown): never {
  throw cause
}

it('hands the answer of a user on as it is: the server that asked may have sent a pattern that takes for ever', async () => {
  const server = createProtocolServer({
    tools: new Tools([], onFault),
    resources: new Resources(new ModelList(() => null, 'USD')),
    version: '1',
    onListed: () => undefined,
    onFault,
  })
  const [client, own] = InMemoryTransport.createLinkedPair()
  // It does not match, and each letter more would double the time that this takes to be seen.
  const content = { name: `${'a'.repeat(20)}!` }
  const greeted = new Promise<void>((resolve) => {
    client.onmessage = (message) => {
      if (!('method' in message)) resolve()
      else if (message.method === 'elicitation/create' && 'id' in message) {
        void client.send({ jsonrpc: '2.0', id: message.id, result: { action: 'accept', content } })
      }
    }
  })
  await server.connect(own)
  await client.start()
  const capabilities = { elicitation: { form: {} } }
  const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'test', version: '1' } }
  await client.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
  await greeted
  const requestedSchema = {
    type: 'object' as const,
    properties: { name: { type: 'string' as const } },
    patternProperties: { '': { pattern: '^(a+)+$' } },
  }
  expect(await server.elicitInput({ message: 'Your name?', requestedSchema })).toMatchObject({
    action: 'accept',
    content,
  })
  await server.close()
})
