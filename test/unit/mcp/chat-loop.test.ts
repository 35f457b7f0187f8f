import { describe, expect, it } from 'vitest'
import { Approvals } from '../../../src/control/mcp/chats/approvals.ts'
import { ChatLoop } from '../../../src/control/mcp/chats/chat-loop.ts'
import type { ChatLoopOptions } from '../../../src/control/mcp/chats/chat-loop.ts'
import { CompletionsChat } from '../../../src/control/mcp/chats/completions-chat.ts'
import { offerTools } from '../../../src/control/mcp/chats/offered-tools.ts'
import { Seal } from '../../../src/shared/runtime/seal.ts'
import { NO_APPROVAL } from '../../../src/shared/endpoints/named-servers.ts'
import type { Tool } from '../../../src/control/mcp/tool-source.ts'

type Json = Record<string, unknown>

function tool(name: string): Tool {
  const hints = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }
  return {
    name,
    title: name,
    description: name,
    inputSchema: { type: 'object' },
    annotations: { title: name, ...hints },
  }
}

const PLACES = {
  label: '/tools/0/server_label',
  tools: '/tools/0/allowed_tools',
  approval: '/tools/0/require_approval',
}
const SERVER = {
  label: 's',
  allowedTools: null,
  deniedTools: [],
  readOnly: false,
  approval: NO_APPROVAL,
  places: PLACES,
}
const SERVERS = [SERVER]

/** A model that calls `look` so many times in each round, as long as it may. */
async function run(callsOfRound: number, options: Partial<ChatLoopOptions['bounds']> & { spentAfter?: number } = {}) {
  const { spentAfter = Infinity, ...bounds } = options
  const terms = { tools: new Map([['s', [tool('look')]]]), taken: new Set<string>(), maxTools: 5 }
  const body = { model: 'm', messages: [{ role: 'user', content: 'hi' }], tool_choice: 'required' }
  const approvals = new Approvals(new Seal(Buffer.alloc(32), 'test'), 'key:k')
  const chat = new CompletionsChat({ body, servers: offerTools(SERVERS, terms), approvals })
  const choices: unknown[] = []
  let made = 0
  const loop = new ChatLoop({
    chat,
    bounds: { maxRounds: 5, maxResultBytes: 10, maxCalls: null, ...bounds },
    isSpent: () => choices.length >= spentAfter,
    request: (_, round: Json) => {
      choices.push(round['tool_choice'])
      const calls = Array.from({ length: callsOfRound }, (_, at) => ({
        id: `c${at}`,
        type: 'function',
        function: { name: 'look', arguments: '' },
      }))
      const message = round['tool_choice'] === 'none' ? { content: 'done' } : { content: null, tool_calls: calls }
      const answer = { id: 'a', choices: [{ message, finish_reason: 'stop' }], usage: { prompt_tokens: 1 } }
      const bytes = Buffer.from(JSON.stringify(answer))
      return Promise.resolve({ status: 200, headers: new Map(), body: bodyOf(bytes), report: () => undefined })
    },
    callTool: () => {
      made += 1
      return Promise.resolve({ isError: false, content: [{ type: 'text', text: 'ä'.repeat(10) }], structured: null })
    },
    signal: new AbortController().signal,
  })
  const parts = loop.run(await loop.begin())
  while ((await parts.next()).done !== true);
  const whole = chat.whole() as { mcp_items: Json[]; usage: Json; choices: Array<{ message: Json }> }
  return { choices, made, items: whole.mcp_items, usage: whole.usage, text: whole.choices[0]?.message['content'] }
}

/** A streamed chat with the tools `look` and `list`, whose model sends these chunks: one list for each round. */
async function runStream(rounds: ReadonlyArray<readonly Json[]>, body: Json = {}) {
  const tools = new Map([['s', [tool('look'), tool('list')]]])
  const chat = new CompletionsChat({
    body: { model: 'm', stream: true, messages: [{ role: 'user', content: 'hi' }], ...body },
    servers: offerTools(SERVERS, { tools, taken: new Set(), maxTools: 5 }),
    approvals: new Approvals(new Seal(Buffer.alloc(32), 'test'), 'key:k'),
  })
  const bodies: Json[] = []
  const made: Array<{ name: string; input: unknown }> = []
  const loop = new ChatLoop({
    chat,
    bounds: { maxRounds: 5, maxResultBytes: 100, maxCalls: null },
    isSpent: () => false,
    request: (_, round: Json) => {
      const chunks = rounds[bodies.length] ?? []
      bodies.push(structuredClone(round))
      const bytes = Buffer.from(
        chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('') + 'data: [DONE]\n\n',
      )
      return Promise.resolve({ status: 200, headers: new Map(), body: bodyOf(bytes), report: () => undefined })
    },
    callTool: ({ name, input }) => {
      made.push({ name, input })
      return Promise.resolve({ isError: false, content: [{ type: 'text', text: name }], structured: null })
    },
    signal: new AbortController().signal,
  })
  let sent = ''
  for await (const part of loop.run(await loop.begin())) sent += part
  const chunks = sent
    .split('\n\n')
    .filter((event) => event.startsWith('data: {'))
    .map((event) => JSON.parse(event.slice('data: '.length)) as Json)
  return { bodies, made, chunks, chat }
}

function chunkOf(delta: Json, reason: string | null = null): Json {
  return {
    id: 'a',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: reason }],
  }
}

function callOf(name: string, input: string, more: Json = {}): Json {
  return { ...more, function: { name, arguments: input } }
}

const DONE = [chunkOf({ role: 'assistant', content: 'done' }), chunkOf({}, 'stop')]

async function* bodyOf(bytes: Buffer): AsyncGenerator<Buffer> {
  yield await Promise.resolve(bytes)
}

describe('a chat with tools', () => {
  it('forces tools in the first round alone, and forbids them in the last', async () => {
    const { choices, made, text, usage } = await run(1, { maxRounds: 3 })
    expect(choices).toEqual(['required', 'auto', 'none'])
    expect({ made, text, usage }).toEqual({ made: 2, text: 'done', usage: { prompt_tokens: 3 } })
  })

  it('ends with the round after its money is spent, or its calls are made', async () => {
    expect((await run(1, { spentAfter: 2 })).choices).toEqual(['required', 'auto', 'none'])
    const { choices, made, items } = await run(2, { maxCalls: 3 })
    expect(choices).toEqual(['required', 'auto', 'none'])
    expect(made).toBe(3)
    expect(items.find(({ status }) => status === 'failed')).toMatchObject({
      error: 'Too many calls: this one was not made.',
    })
  })

  it('makes sixteen calls of a round, and cuts results between characters', async () => {
    const { made, items } = await run(20, { maxRounds: 2, maxResultBytes: 5 })
    expect(made).toBe(16)
    expect(items.filter(({ status }) => status === 'failed')).toHaveLength(4)
    expect(items.find(({ status }) => status === 'completed')?.['output']).toBe(
      'ää\n[cut: the result has 20 bytes, and 4 of them are here]',
    )
  })
})

describe('the parallel calls of a stream', () => {
  const [look, list] = [callOf('look', '{"at":1}'), callOf('list', '{"at":2}')]

  it.each<[string, Json[]]>([
    [
      'whole, with ids',
      [
        {
          tool_calls: [
            { ...look, id: 'c1' },
            { ...list, id: 'c2' },
          ],
        },
      ],
    ],
    ['whole, without ids', [{ tool_calls: [look, list] }]],
    ['whole, in two chunks', [{ tool_calls: [look] }, { tool_calls: [list] }]],
    [
      'in parts, with ids',
      [
        { tool_calls: [callOf('look', '', { id: 'c1' })] },
        { tool_calls: [{ id: 'c1', function: { arguments: '{"at":1}' } }] },
        { tool_calls: [callOf('list', '{"at"', { id: 'c2' })] },
        { tool_calls: [{ function: { arguments: ':2}' } }] },
      ],
    ],
    [
      'all with the same index',
      [{ tool_calls: [{ ...look, id: 'c1', index: 0 }] }, { tool_calls: [{ ...list, id: 'c2', index: 0 }] }],
    ],
    [
      'with an index',
      [
        { tool_calls: [callOf('look', '', { id: 'c1', index: 0 }), callOf('list', '', { id: 'c2', index: 1 })] },
        { tool_calls: [{ index: 1, function: { arguments: '{"at":2}' } }] },
        { tool_calls: [{ index: 0, function: { arguments: '{"at":1}' } }] },
      ],
    ],
  ])('are told apart: %s', async (_, deltas) => {
    const { made, bodies } = await runStream([
      [...deltas.map((delta) => chunkOf(delta)), chunkOf({}, 'tool_calls')],
      DONE,
    ])
    expect(made).toEqual([
      { name: 'look', input: { at: 1 } },
      { name: 'list', input: { at: 2 } },
    ])
    expect(bodies[1]?.['messages']).toMatchObject([
      { role: 'user' },
      { tool_calls: [look, list] },
      { role: 'tool', content: 'look' },
      { role: 'tool', content: 'list' },
    ])
  })

  it('of the client get an index each', async () => {
    const calls = [callOf('own', '{}', { id: 'c1' }), callOf('other', '{}', { id: 'c2' })]
    const { chunks } = await runStream([[chunkOf({ tool_calls: calls }), chunkOf({}, 'tool_calls')]])
    expect(chunks[0]).toMatchObject({
      choices: [
        {
          delta: {
            tool_calls: [
              { index: 0, id: 'c1' },
              { index: 1, id: 'c2' },
            ],
          },
        },
      ],
    })
  })
})

it('a whole answer whose calls have the same index has as many calls', () => {
  const servers = offerTools(SERVERS, { tools: new Map([['s', [tool('look')]]]), taken: new Set(), maxTools: 5 })
  const approvals = new Approvals(new Seal(Buffer.alloc(32), 'test'), 'key:k')
  const chat = new CompletionsChat({ body: { model: 'm', messages: [] }, servers, approvals })
  chat.roundBody(false)
  const calls = ['{"at":1}', '{"at":2}'].map((input) => callOf('look', input, { index: 0 }))
  chat.readWhole({ choices: [{ message: { tool_calls: calls } }] })
  expect(chat.endRound(false).calls.map(({ input }) => input)).toEqual(['{"at":1}', '{"at":2}'])
})

it('counts the last usage of each round of a stream, whose chunks may say that there is no error', async () => {
  const usageOf = (prompt: number, completion: number): Json => ({
    usage: { prompt_tokens: prompt, completion_tokens: completion },
  })
  const rounds = [
    [
      { ...chunkOf({ tool_calls: [callOf('look', '{}', { id: 'c1' })] }), ...usageOf(10, 1) },
      { ...chunkOf({}, 'tool_calls'), ...usageOf(10, 5) },
      { ...chunkOf({}), usage: null, error: null },
    ],
    [
      { ...chunkOf({ content: 'done' }, 'stop'), ...usageOf(20, 2) },
      { choices: [], ...usageOf(20, 3) },
    ],
  ]
  const { chat, chunks } = await runStream(rounds, { stream_options: { include_usage: true } })
  expect(chunks.at(-1)).toMatchObject({ choices: [], ...usageOf(30, 8) })
  expect([chat.promptTokens, chat.completionTokens]).toEqual([30, 8])
})

it('takes the names of a stream from its first chunk with a choice', async () => {
  const filtered = {
    id: '',
    object: '',
    created: 0,
    model: '',
    choices: [],
    prompt_filter_results: [{ prompt_index: 0 }],
  }
  const named = { system_fingerprint: 'fp', service_tier: 'default', obfuscation: 'x' }
  const rounds = [
    [filtered, { ...chunkOf({ tool_calls: [callOf('look', '{}', { id: 'c1' })] }, 'tool_calls'), ...named }],
    [filtered, ...DONE.map((chunk) => ({ ...chunk, id: 'b' }))],
  ]
  const { chunks } = await runStream(rounds, { stream_options: { include_usage: true } })
  const { choices: _, ...head } = chunkOf({})
  const expected = { ...head, system_fingerprint: 'fp', service_tier: 'default' }
  const heads = chunks.map(({ choices: _, usage: __, mcp_item: ___, ...rest }) => rest)
  expect(heads).toEqual(chunks.map(() => expected))
})

describe('tools of servers', () => {
  it('get names that functions may have, and that no other function has', () => {
    const tools = new Map([['s', [tool('a.b'), tool('a_b'), tool('x'.repeat(70)), tool('own')]]])
    const [offered] = offerTools(SERVERS, { tools, taken: new Set(['own']), maxTools: 9 })
    expect(offered?.tools.map(({ functionName }) => functionName)).toEqual(['a_b', 'a_b_2', 'x'.repeat(64), 'own_2'])
  })

  it('may be named without the prefix of their server', () => {
    const tools = new Map([['s', [tool('s__a'), tool('s__b')]]])
    const servers = [{ ...SERVER, allowedTools: ['a'] }]
    const [offered] = offerTools(servers, { tools, taken: new Set(), maxTools: 9 })
    expect(offered?.tools.map(({ functionName }) => functionName)).toEqual(['s__a'])
    expect(() => offerTools(SERVERS, { tools, taken: new Set(), maxTools: 1 })).toThrow('More than 1 tools')
  })
})
