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

/** A tool whose result is what the user answers. It may take its question back. */
const asking: ToolSource = {
  list: () => Promise.resolve([ASK]),
  call: async ({ client, input, signal }) => {
    const elicit = client?.elicit ?? null
    if (elicit === null) throw new Error('nobody can be asked')
    const own = new AbortController()
    const asked = elicit(QUESTION, AbortSignal.any([signal, own.signal]))
    if (input['takesBack'] === true) own.abort()
    const answer = await asked.catch(() => 'taken back')
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
async function call(at: McpService, session: string, input: object = {}): Promise<() => Promise<Message>> {
  const { body } = await post(at, { id: 7, method: 'tools/call', params: { name: 'ask', arguments: input } }, session)
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

  it('takes no answer to a question of another process', async () => {
    const [one, other] = [process(), process()] as const
    const session = await begin(one)
    const nextOfOne = await call(one, session)
    const nextOfOther = await call(other, session)
    const [first, second] = [await nextOfOne(), await nextOfOther()]
    expect(first.id).not.toBe(second.id)
    expect((await post(other, answerOf(first, 'Ada'), session)).status).toBe(202)
    await post(other, answerOf(second, 'Bob'), session)
    expect(JSON.stringify(await nextOfOther())).toContain('Bob')
    await post(one, answerOf(first, 'Ada'), session)
    expect(JSON.stringify(await nextOfOne())).toContain('Ada')
  })

  it('is taken back by the id that the client knows', async () => {
    const one = process()
    const next = await call(one, await begin(one), { takesBack: true })
    const { id, method } = await next()
    expect(method).toBe('elicitation/create')
    expect(await next()).toMatchObject({ method: 'notifications/cancelled', params: { requestId: id } })
    expect(JSON.stringify(await next())).toContain('taken back')
  })
})
