import Anthropic from '@anthropic-ai/sdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Behaviour } from '../../../src/simulator/behaviour.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { arrivals } from '../../support/ai-calls.ts'
import { eventually } from '../../support/eventually.ts'
import type { LogRow } from '../../support/gateway.ts'
import { McpWorld } from '../../support/mcp-world.ts'
import type { McpUser } from '../../support/mcp-world.ts'
import { UpstreamToolServer } from '../../support/upstream-tool-server.ts'

type Json = Record<string, unknown>
type Params = Anthropic.Beta.Messages.MessageCreateParamsNonStreaming
type Message = Anthropic.Beta.Messages.BetaMessage

const SLUICE = { type: 'url' as const, name: 'sluice', url: '' }
const OUTSIDE = {
  type: 'url' as const,
  name: 'wiki',
  url: 'https://wiki.example.com/mcp',
  authorization_token: 'secret',
}
const TOOLSET = { type: 'mcp_toolset' as const, mcp_server_name: 'sluice' }
const TWO_ROUNDS: Behaviour = {
  turns: [
    { text: 'Let me look.', tool: { name: 'list_models', arguments: { search: 'm' } } },
    { tool: { name: 'create_embedding', arguments: { model: 'e', input: 'a' } } },
    { text: 'There is one model.' },
  ],
}
/** `m` is of another protocol than the client's, `c` of the same. */
const WAYS = ['m', 'c'].flatMap((model) => [true, false].map((stream) => [model, stream] as const))

let simulator: Simulator
let server: UpstreamToolServer
let world: McpWorld
let user: McpUser
let key: { id: string; key: string }
let marks = 0

beforeAll(async () => {
  simulator = await startSimulator()
  server = await UpstreamToolServer.start()
  server.tools = [{ name: 'search', description: 'Finds pages.' }]
  world = await McpWorld.start({
    upstreams: [
      { id: 'up', dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m', 'e'] },
      { id: 'other', dialect: 'anthropic-messages', baseUrl: `${simulator.origin}/v1`, models: ['c'] },
    ],
    config: {
      models: ['m', 'c'].map((id) => ({ id, prices: { input: 1_000_000, output: 1_000_000 } })),
      management: { private_upstreams: ['127.0.0.1'] },
      mcp: { chats: { max_rounds: 4, max_ms: 5_000, max_tools: 3, max_result_bytes: 300 } },
    },
  })
  user = await world.user()
  key = await world.key(user, { mcp_tools: ['*'] })
}, 120_000)

afterAll(async () => {
  await world.gateway.stop()
  await server.stop()
  await simulator.close()
})

const prompt = (behaviour: Behaviour): string => `Which models? [[sim ${JSON.stringify(behaviour)}]]`

function newMark(): string {
  marks += 1
  return `messages-${marks}`
}

function client(apiKey = key.key, mark = 'messages'): Anthropic {
  const defaultHeaders = { 'x-client-request-id': mark }
  return new Anthropic({ apiKey, baseURL: world.gateway.url, maxRetries: 0, defaultHeaders })
}

function paramsOf(content: string, more: Partial<Params> = {}): Params {
  return {
    model: 'm',
    max_tokens: 200,
    messages: [{ role: 'user', content }],
    mcp_servers: [SLUICE],
    tools: [TOOLSET],
    betas: ['mcp-client-2025-11-20'],
    ...more,
  }
}

interface Asked {
  readonly stream: boolean
  readonly apiKey?: string
  readonly mark?: string
  readonly signal?: AbortSignal
}

/** Asks as the official library does. */
async function ask(params: Params, { stream, apiKey, mark, signal }: Asked): Promise<Message> {
  const { messages } = client(apiKey, mark).beta
  const options = signal === undefined ? {} : { signal }
  if (!stream) return messages.create(params, options)
  const types: string[] = []
  const events = messages.stream(params, options)
  for await (const event of events) {
    types.push(event.type)
    if (event.type === 'content_block_start')
      expect(event.index).toBe(types.filter((one) => one === event.type).length - 1)
  }
  expect([types[0], types.at(-2), types.at(-1)]).toEqual(['message_start', 'message_delta', 'message_stop'])
  expect(types.filter((type) => type.startsWith('message_'))).toHaveLength(3)
  return events.finalMessage()
}

/** The rows of the rounds, in order. */
function rows(mark: string, count: number): Promise<Array<LogRow & { cost: number; trace_id: string }>> {
  return eventually(
    async () => {
      const all = (await world.gateway.logRows()) as Array<LogRow & { cost: number; trace_id: string }>
      const own = all.filter((row) => row.client_request_id === mark)
      expect(own).toHaveLength(count)
      return own.reverse()
    },
    { timeoutMs: 40_000 },
  )
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)
const textsOf = ({ content }: Message): string[] => content.flatMap((one) => (one.type === 'text' ? [one.text] : []))
const typesOf = ({ content }: Message): string[] => content.map(({ type }) => type)

describe.each(WAYS)('a message with tools of the gateway, of the model %s, streamed: %s', (model, stream) => {
  it('has two rounds of tools, and the log has each round', async () => {
    const mark = newMark()
    const message = await ask(paramsOf(prompt(TWO_ROUNDS), { model }), { stream, mark })
    expect(typesOf(message)).toEqual([
      'text',
      'mcp_tool_use',
      'mcp_tool_result',
      'mcp_tool_use',
      'mcp_tool_result',
      'text',
    ])
    expect(textsOf(message)).toEqual(['Let me look.', 'There is one model.'])
    const [, use, result, , embedded] = message.content
    expect(use).toMatchObject({ name: 'list_models', server_name: 'sluice', input: { search: 'm' } })
    expect(result).toMatchObject({ tool_use_id: (use as { id: string }).id, is_error: false })
    expect(JSON.stringify(result)).toContain('\\"id\\":\\"m\\"')
    expect(embedded).toMatchObject({ is_error: false })
    expect(message).toMatchObject({ role: 'assistant', stop_reason: 'end_turn' })
    const rounds = await rows(mark, 3)
    expect(rounds.map(({ status, key_id, endpoint }) => [status, key_id, endpoint])).toEqual(
      Array(3).fill([200, key.id, 'messages']),
    )
    expect(new Set(rounds.map(({ trace_id }) => trace_id)).size).toBe(1)
    const { usage } = message
    expect(usage.input_tokens + (usage.cache_read_input_tokens ?? 0)).toBe(sum(rounds.map((row) => row.prompt_tokens)))
    expect(usage.output_tokens).toBe(sum(rounds.map((row) => row.completion_tokens)))
  }, 60_000)

  it('leaves the tools of the client to the client', async () => {
    const own = { name: 'get_weather', input_schema: { type: 'object' as const, properties: {} } }
    const behaviour = { turns: [{ tool: { name: 'list_models' } }, { tool: { name: 'get_weather', arguments: {} } }] }
    const message = await ask(paramsOf(prompt(behaviour), { model, tools: [TOOLSET, own] }), { stream })
    expect(typesOf(message)).toEqual(['mcp_tool_use', 'mcp_tool_result', 'tool_use'])
    expect(message).toMatchObject({ stop_reason: 'tool_use' })
    expect(message.content[2]).toMatchObject({ name: 'get_weather', input: {} })
  })

  it('tells the model what failed, and goes on', async () => {
    const tool = [
      { name: 'chat_completion', arguments: { model: 'none', messages: [] } },
      { name: 'create_embedding', arguments: { model: 'none', input: 'a' } },
    ]
    const message = await ask(paramsOf(prompt({ turns: [{ tool }, { text: 'I see.' }] }), { model }), { stream })
    expect(textsOf(message)).toEqual(['I see.'])
    const results = message.content.filter(({ type }) => type === 'mcp_tool_result')
    expect(results).toMatchObject([{ is_error: true }, { is_error: true }])
    expect(JSON.stringify(results)).toContain('INVALID_FIELD')
  })

  it('ends with an answer when its rounds are used up', async () => {
    const mark = newMark()
    const behaviour: Behaviour = { turns: Array<Behaviour>(9).fill({ tool: { name: 'list_models', arguments: {} } }) }
    const message = await ask(paramsOf(prompt(behaviour), { model }), { stream, mark })
    expect(typesOf(message).filter((type) => type === 'mcp_tool_use')).toHaveLength(3)
    expect(message.stop_reason).not.toBe('tool_use')
    await rows(mark, 4)
  }, 60_000)

  it('ends with its client, and so does its round', async () => {
    const mark = newMark()
    const leaving = new AbortController()
    const behaviour: Behaviour = { turns: [{ tool: { name: 'list_models' } }, { ttftMs: 4_000 }] }
    const asked = ask(paramsOf(prompt(behaviour), { model }), { stream, mark, signal: leaving.signal })
    const ended = expect(asked).rejects.toThrow()
    await eventually(async () => {
      expect((await world.gateway.logRows()).filter((row) => row.client_request_id === mark)).toHaveLength(1)
    })
    leaving.abort()
    await ended
    expect(await rows(mark, 2)).toMatchObject([{ status: 200 }, { status: 499, aborted: true }])
  }, 60_000)
})

describe.each([true, false])('limits and money of a message with tools, streamed: %s', (stream) => {
  it('are those of its rounds', async () => {
    const limited = await world.key(user, { mcp_tools: ['list_models'], rpm: 2, max_concurrency: 1 })
    const look = { tool: { name: 'list_models' } }
    const mark = newMark()
    const params = paramsOf(prompt({ turns: [look, look, { text: 'done' }] }))
    const failure: unknown = await ask(params, { stream, apiKey: limited.key, mark }).catch((cause: unknown) => cause)
    expect(failure).toMatchObject({ error: { type: 'error', error: { type: 'rate_limit' } } })
    if (!stream) expect((failure as { headers: Headers }).headers.get('x-should-retry')).toBe('false')
    expect((await rows(mark, 3)).map(({ status }) => status)).toEqual([200, 200, 429])
  }, 60_000)

  it('are charged for each round and each call', async () => {
    const id = `docs-${String(stream)}`
    const registered = { id, url: server.url, allow_all_tools: true, price_micro: 2_500, access: [{ everyone: true }] }
    await world.admin.expect('adminCreateToolServer', 201, { body: registered })
    await world.admin.expect('adminRefreshToolServer', 200, { params: { id } })
    const enterprise = await world.enterprise(`Acme ${String(stream)}`)
    const owner = await world.member(enterprise, 'owner')
    const made = await owner.client.expect('createEnterpriseKey', 201, {
      params: { id: enterprise },
      body: { name: 'k', monthly_budget: 1_000_000, mcp_tools: [`${id}__*`] },
    })
    const mark = newMark()
    const behaviour: Behaviour = {
      turns: [{ tool: { name: `${id}__search`, arguments: { query: 'locks' } } }, { text: 'Found.' }],
    }
    const params = paramsOf(prompt(behaviour), {
      mcp_servers: [{ type: 'url', name: id, url: '' }],
      tools: [
        {
          type: 'mcp_toolset',
          mcp_server_name: id,
          default_config: { enabled: false },
          configs: { search: { enabled: true } },
        },
      ],
    })
    const message = await ask(params, { stream, apiKey: String(made.json['key']), mark })
    expect(message.content[0]).toMatchObject({ type: 'mcp_tool_use', server_name: id, name: `${id}__search` })
    expect(message.content[1]).toMatchObject({ content: [{ type: 'text', text: 'search {"query":"locks"}' }] })
    const rounds = await rows(mark, 2)
    const { input_tokens, output_tokens } = message.usage
    expect(sum(rounds.map(({ cost }) => cost))).toBe(input_tokens + output_tokens)
    const keyId = String(made.json['id'])
    await eventually(async () => {
      const { json } = await owner.client.expect('getEnterpriseKey', 200, { params: { id: enterprise, keyId } })
      expect(json['spend']).toMatchObject({ spent: input_tokens + output_tokens + 2_500, held: 0 })
    })
    const [call] = (await world.gateway.logRows({ key_id: keyId, model: `${id}__search` })) as Array<LogRow & Json>
    expect(call).toMatchObject({ endpoint: 'tools.call', status: 200, cost: 2_500, trace_id: rounds[0]?.trace_id })
  }, 60_000)
})

describe('a client that names mcp_servers', () => {
  async function post(more: Json, { path = '/v1/messages', apiKey = key.key } = {}): Promise<Json> {
    const { betas: _, ...params } = paramsOf('Hello')
    const answer = await fetch(`${world.gateway.url}${path}`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'anthropic-version': '2023-06-01', 'content-type': 'application/json' },
      body: JSON.stringify({ ...params, ...more }),
    })
    return { status: answer.status, ...((await answer.json()) as Json) }
  }
  const refused = (param: string): Json => ({
    status: 400,
    type: 'error',
    error: { type: 'invalid_request', message: expect.stringContaining(param) as string },
    request_id: expect.stringMatching(/^req_/) as string,
  })

  it('is told which field is wrong, and what to do', async () => {
    const servers = (more: Json): Json => ({ mcp_servers: [{ ...SLUICE, ...more }] })
    const toolset = (more: Json): Json => ({ tools: [{ ...TOOLSET, ...more }] })
    const cases: Array<readonly [Json, string]> = [
      [{ mcp_servers: [SLUICE, OUTSIDE] }, '/mcp_servers/1/url'],
      [servers({ authorization_token: 'secret' }), '/mcp_servers/0/authorization_token'],
      [servers({ type: 'stdio' }), '/mcp_servers/0/type'],
      [{ ...servers({ name: undefined }), tools: [] }, '/mcp_servers/0/name'],
      [{ ...servers({ name: 'nobody' }), ...toolset({ mcp_server_name: 'nobody' }) }, '/mcp_servers/0/name'],
      [servers({ tool_configuration: { allowed_tools: [] } }), '/mcp_servers/0/tool_configuration'],
      [
        { ...servers({ tool_configuration: { allowed_tools: 'all' } }), tools: [] },
        '/mcp_servers/0/tool_configuration',
      ],
      [{ mcp_servers: [SLUICE, SLUICE] }, '/mcp_servers/1/name'],
      [{ mcp_servers: [SLUICE, { ...SLUICE, name: 'other' }] }, '/mcp_servers/1/name'],
      [{ mcp_servers: [] }, '/tools/0/mcp_server_name'],
      [{ tools: [TOOLSET, TOOLSET] }, '/tools/1/mcp_server_name'],
      [toolset({ tools: [] }), '/tools/0/tools'],
      [toolset({ configs: { list_models: { enabled: 'no' } } }), '/tools/0/configs/list_models/enabled'],
      [toolset({ default_config: { enabled: false }, configs: { nothing: { enabled: true } } }), '/tools/0/configs'],
    ]
    for (const [more, param] of cases) {
      const answer = await post(more)
      expect([more, answer]).toMatchObject([more, refused(param)])
    }
  })

  it('leaves servers with an address to the upstream', async () => {
    const tools = [{ type: 'mcp_toolset', mcp_server_name: OUTSIDE.name }]
    const messages = [{ role: 'user', content: 'upstream-connects' }]
    expect(await post({ model: 'c', messages, mcp_servers: [OUTSIDE], tools })).toMatchObject({ status: 200 })
    const [seen] = arrivals(simulator, 'upstream-connects')
    expect(JSON.parse(seen?.body ?? '{}')).toMatchObject({ mcp_servers: [OUTSIDE], tools })
  })

  it('needs a key that may use tools, and gets the first refusal as it is', async () => {
    const plain = await world.key(user)
    expect(await post({}, { apiKey: plain.key })).toMatchObject({ status: 403, error: { type: 'access_denied' } })
    expect(await post({ model: 'nothing' })).toMatchObject({ status: 404, type: 'error' })
    expect(await post({ model: 'nothing', stream: true })).toMatchObject({ status: 404, type: 'error' })
  })

  it('may leave tools out, also in the older form, and may force the first one', async () => {
    const asked = prompt({ turns: [{ tool: { name: 'list_models' } }, { text: 'One.' }] })
    const older = { mcp_servers: [{ ...SLUICE, tool_configuration: { allowed_tools: ['list_models'] } }], tools: [] }
    expect(textsOf(await ask(paramsOf(asked, older), { stream: false }))).toEqual(['One.'])
    const denied = { tools: [{ ...TOOLSET, configs: { list_models: { enabled: false } } }] }
    expect(typesOf(await ask(paramsOf(asked, denied), { stream: false }))).not.toContain('mcp_tool_use')
    const forced = { tool_choice: { type: 'tool' as const, name: 'list_models' } }
    expect(typesOf(await ask(paramsOf('Hello', forced), { stream: true }))).toEqual([
      'mcp_tool_use',
      'mcp_tool_result',
      'text',
    ])
  })

  it('may go on with the blocks of an earlier message, and use the path of the vendor', async () => {
    const content = prompt({ turns: [{ tool: { name: 'list_models' } }, { text: 'One.' }, { text: 'Still one.' }] })
    for (const model of ['m', 'c']) {
      const first = await ask(paramsOf(content, { model }), { stream: true })
      const messages = [
        { role: 'user', content },
        { role: 'assistant', content: first.content },
        { role: 'user', content: 'And now?' },
      ]
      const second = await post({ model, messages }, { path: '/anthropic/v1/messages' })
      expect(second).toMatchObject({ status: 200, content: [{ type: 'text', text: 'Still one.' }] })
    }
  })

  it('may count the tokens first', async () => {
    const { max_tokens: _, stream: __, ...params } = paramsOf('count-these-tokens', { model: 'c' })
    expect((await client().beta.messages.countTokens(params)).input_tokens).toBeGreaterThan(0)
    const [counted] = arrivals(simulator, 'count-these-tokens')
    expect(counted?.path).toContain('/count_tokens')
    expect((JSON.parse(counted?.body ?? '{}') as Json)['tools']).toMatchObject([{ name: 'list_models' }, {}, {}])
    const mixed = { mcp_servers: [SLUICE, OUTSIDE] }
    expect(await post(mixed, { path: '/v1/messages/count_tokens' })).toMatchObject(refused('/mcp_servers/1/url'))
  })

  it('sends nothing of the servers to the upstream', async () => {
    const content = `${prompt({ turns: [{ tool: { name: 'list_models' } }, { text: 'One.' }] })} upstream-sees`
    await ask(paramsOf(content, { model: 'c' }), { stream: true })
    const seen = arrivals(simulator, 'upstream-sees')
    expect(seen.length).toBeGreaterThan(1)
    for (const { body, headers } of seen) {
      expect(body).not.toMatch(/mcp_servers|mcp_toolset|mcp_tool/)
      expect(String(headers['anthropic-beta'])).not.toContain('mcp-client')
    }
  })
})

it('a message with tools ends when its time is over', async () => {
  const params = paramsOf(prompt({ turns: [{ tool: { name: 'list_models' } }, { ttftMs: 60_000 }] }))
  for (const stream of [true, false]) {
    const failure: unknown = await ask(params, { stream }).catch((cause: unknown) => cause)
    expect(String(failure)).toContain('took longer than 5000 ms')
  }
}, 30_000)
