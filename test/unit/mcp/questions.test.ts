import { afterEach, describe, expect, it } from 'vitest'
import type { ManagementResponse } from '../../../src/control/management/web.ts'
import type { McpService } from '../../../src/control/mcp/mcp-service.ts'
import type { Tool, ToolSource } from '../../../src/control/mcp/tool-source.ts'
import { serviceWith } from '../../support/mcp-fixtures.ts'

const ASK = {
  name: 'ask',
  title: 'ask',
  description: 'Asks the user.',
  inputSchema: { type: 'object' },
  annotations: { title: 'ask', readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
} as const satisfies Tool

const QUESTION = {
  message: 'Your name?',
  requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
}

/** A tool whose result is what the user answers. */
const asking: ToolSource = {
  list: () => Promise.resolve([ASK]),
  call: async ({ client, signal }) => {
    const elicit = client?.elicit ?? null
    if (elicit === null) throw new Error('nobody can be asked')
    const answer = await elicit(QUESTION, signal)
    return { isError: false, content: [{ type: 'text', text: JSON.stringify(answer) }], structured: null }
  },
}

const open: McpService[] = []
const left = new AbortController()

afterEach(() => {
  for (const service of open.splice(0)) service.close()
})

/** A process with its own sessions. All processes recognise each other's ids of sessions. */
function process(): McpService {
  const service = serviceWith(asking, (cause) => {
    throw cause
  })
  open.push(service)
  return service
}

function post(at: McpService, body: object, session?: string): Promise<ManagementResponse> {
  const headers = {
    host: '127.0.0.1',
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    ...(session === undefined ? {} : { 'mcp-session-id': session }),
  }
  const bytes = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...body }))
  const place = { requestId: 'req', method: 'POST', path: '/mcp', query: '', address: '127.0.0.1' }
  return at.serve({ ...place, headers, body: bytes, signal: left.signal })
}

async function begin(at: McpService): Promise<string> {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: { elicitation: {} },
    clientInfo: { name: 'test', version: '1' },
  }
  const { headers } = await post(at, { id: 0, method: 'initialize', params })
  return headers.find(([name]) => name === 'mcp-session-id')?.[1] ?? ''
}

interface Message {
  readonly id?: string | number
  readonly method?: string
}

/** A call of the tool, whose messages come one by one. */
async function call(at: McpService, session: string): Promise<() => Promise<Message>> {
  const { body } = await post(at, { id: 7, method: 'tools/call', params: { name: 'ask', arguments: {} } }, session)
  const chunks = (body as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
  const messages: Message[] = []
  return async () => {
    while (messages.length === 0) {
      const { value, done } = await chunks.next()
      if (done === true) throw new Error('the stream has ended')
      const events = [...value.toString('utf8').matchAll(/^data: (\{.*)$/gm)]
      messages.push(...events.map(([, data = '']) => JSON.parse(data) as Message))
    }
    return messages.shift() ?? {}
  }
}

const answerOf = ({ id }: Message, name: string): object => ({ id, result: { action: 'accept', content: { name } } })

describe('a question to the client of a call', () => {
  it('is asked on the stream of the call', async () => {
    const one = process()
    const session = await begin(one)
    const next = await call(one, session)
    const question = await next()
    expect(question.method).toBe('elicitation/create')
    await post(one, answerOf(question, 'Ada'), session)
    expect(JSON.stringify(await next())).toContain('Ada')
  })

  it('is asked in a session that another process began', async () => {
    const session = await begin(process())
    const other = process()
    const next = await call(other, session)
    const question = await next()
    expect(question.method).toBe('elicitation/create')
    expect((await post(other, answerOf(question, 'Ada'), session)).status).toBe(202)
    expect(JSON.stringify(await next())).toContain('Ada')
  })
})
