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
