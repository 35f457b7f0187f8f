import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Behaviour } from '../../../src/simulator/behaviour.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { firstCases } from '../../support/dose.ts'
import { eventually } from '../../support/eventually.ts'
import type { LogRow } from '../../support/gateway.ts'
import { UpstreamToolServer } from '../../support/upstream-tool-server.ts'
import { McpWorld } from '../../support/mcp-world.ts'
import type { McpUser } from '../../support/mcp-world.ts'

type Json = Record<string, unknown>
interface Item extends Json {
  readonly type: string
}

const SLUICE = { type: 'mcp', server_label: 'sluice', require_approval: 'never' }
/** Two rounds of tools, then the answer. */
const TWO_ROUNDS: Behaviour = {
  turns: [
    { text: 'Let me look.', tool: { name: 'list_models', arguments: { search: 'm' } } },
    { tool: { name: 'create_embedding', arguments: { model: 'e', input: 'a' } } },
    { text: 'There is one model.' },
  ],
}
const TEXT = 'Let me look.\n\nThere is one model.'
const ENDPOINTS = ['completions', 'responses'] as const
const WAYS = ENDPOINTS.flatMap((endpoint) => [true, false].map((stream) => [endpoint, stream] as const))

let simulator: Simulator
let world: McpWorld
let user: McpUser
let key: { id: string; key: string }
let marks = 0
let server: UpstreamToolServer

beforeAll(async () => {
  simulator = await startSimulator()
  server = await UpstreamToolServer.start()
  server.tools = [
    {
      name: 'search',
      description: 'Finds pages.',
      inputSchema: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
    },
  ]
  world = await McpWorld.start({
    upstreams: [
      { id: 'up', dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m', 'e'] },
      { id: 'other', dialect: 'anthropic-messages', baseUrl: `${simulator.origin}/v1`, models: ['c'] },
    ],
    config: {
      models: [{ id: 'm', prices: { input: 1_000_000, output: 1_000_000 } }],
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

interface Asked {
  readonly content: string
  readonly stream?: boolean
  readonly apiKey?: string
  readonly more?: Json
  readonly signal?: AbortSignal
  readonly mark?: string
}

function prompt(behaviour: Behaviour): string {
  return `Which models? [[sim ${JSON.stringify(behaviour)}]]`
}

/** Asks as the official library does. */
function client(apiKey: string, mark = 'chat'): OpenAI {
  const defaultHeaders = { 'x-client-request-id': mark }
  return new OpenAI({ apiKey, baseURL: `${world.gateway.url}/v1`, maxRetries: 0, defaultHeaders })
}

function bodyOf(endpoint: (typeof ENDPOINTS)[number], content: string, more: Json): Json {
  const asked = endpoint === 'responses' ? { input: content } : { messages: [{ role: 'user', content }] }
  return { model: 'm', tools: [SLUICE], ...asked, ...more }
}

interface Told {
  readonly text: string
  readonly items: readonly Item[]
  readonly usage: Json
  readonly types: readonly string[]
  readonly answer: Json
}

async function ask(endpoint: (typeof ENDPOINTS)[number], asked: Asked): Promise<Told> {
  const { content, stream = false, apiKey = key.key, more = {}, signal, mark } = asked
  const openai = client(apiKey, mark)
  const body = bodyOf(endpoint, content, { ...more, ...(stream ? { stream } : {}) })
  const options = signal === undefined ? {} : { signal }
  if (endpoint === 'responses') {
    const types: string[] = []
    let answer: OpenAI.Responses.Response
    if (stream) {
      const events = openai.responses.stream(body as unknown as OpenAI.Responses.ResponseCreateParamsStreaming, options)
      let sequence = 0
      for await (const event of events) {
        expect(event.sequence_number).toBe(sequence++)
        types.push(event.type)
      }
      answer = await events.finalResponse()
    } else {
      answer = await openai.responses.create(
        body as unknown as OpenAI.Responses.ResponseCreateParamsNonStreaming,
        options,
      )
    }
    const texts = answer.output.flatMap((item) => (item.type === 'message' ? item.content : []))
    const text = texts.map((part) => (part.type === 'output_text' ? part.text : '')).join('\n\n')
    const items = answer.output as unknown as Item[]
    return { text, items, usage: answer.usage as unknown as Json, types, answer: answer as unknown as Json }
  }
  if (!stream) {
    const answer = (await openai.chat.completions.create(
      body as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming,
      options,
    )) as OpenAI.ChatCompletion & { mcp_items?: Item[] }
    const text = answer.choices[0]?.message.content ?? ''
    const items = answer.mcp_items ?? []
    return { text, items, usage: answer.usage as unknown as Json, types: [], answer: answer as unknown as Json }
  }
  const runner = openai.chat.completions.stream(
    { ...body, stream_options: { include_usage: true } } as unknown as OpenAI.ChatCompletionCreateParamsStreaming,
    options,
  )
  const items: Item[] = []
  const ids = new Set<string>()
  runner.on('chunk', (chunk) => {
    ids.add(chunk.id)
    const { mcp_item: item } = chunk as { mcp_item?: Item }
    if (item !== undefined) items.push(item)
  })
  const answer = await runner.finalChatCompletion()
  expect(ids.size).toBe(1)
  const types = items.map(({ name, status }) => `${String(name)} ${String(status)}`)
  const text = answer.choices[0]?.message.content ?? ''
  const done = items.filter(({ status }) => status !== 'in_progress')
  return { text, items: done, usage: answer.usage as unknown as Json, types, answer: answer as unknown as Json }
}

function newMark(): string {
  marks += 1
  return `chat-${marks}`
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

describe.each(firstCases(2, WAYS))('a chat with tools of the gateway, through %s, streamed: %s', (endpoint, stream) => {
  it('runs two rounds of tools, and the log has each round', async () => {
    const mark = newMark()
    const { text, items, usage, types } = await ask(endpoint, { content: prompt(TWO_ROUNDS), stream, mark })
    expect(text).toBe(TEXT)
    const calls = items.filter(({ type }) => type === 'mcp_call')
    expect(calls).toMatchObject([
      { server_label: 'sluice', name: 'list_models', arguments: '{"search":"m"}', status: 'completed', error: null },
      { server_label: 'sluice', name: 'create_embedding', status: 'completed', error: null },
    ])
    expect(String(calls[0]?.['output'])).toContain('"id":"m"')
    if (stream && endpoint === 'completions') {
      expect(types).toEqual([
        'list_models in_progress',
        'list_models completed',
        'create_embedding in_progress',
        'create_embedding completed',
      ])
    }
    if (endpoint === 'responses') {
      expect(items.map(({ type }) => type)).toEqual(['mcp_list_tools', 'message', 'mcp_call', 'mcp_call', 'message'])
      expect(items[0]).toMatchObject({ server_label: 'sluice', tools: [{ name: 'list_models' }, {}, {}] })
    }
    // The call of create_embedding is a request of the key, too, but not of the client.
    const rounds = await rows(mark, 3)
    expect(rounds.map(({ status, key_id, endpoint: at }) => [status, key_id, at])).toEqual(
      Array(3).fill([200, key.id, endpoint === 'responses' ? 'responses' : 'chat.completions']),
    )
    expect(new Set(rounds.map(({ trace_id }) => trace_id)).size).toBe(1)
    const [input, output] =
      endpoint === 'responses' ? ['input_tokens', 'output_tokens'] : ['prompt_tokens', 'completion_tokens']
    expect(usage).toMatchObject({
      [input]: sum(rounds.map((row) => row.prompt_tokens)),
      [output]: sum(rounds.map((row) => row.completion_tokens)),
    })
  }, 60_000)

  it('leaves the functions of the client to the client', async () => {
    const own = { name: 'get_weather', parameters: { type: 'object', properties: {} } }
    const tools = [
      SLUICE,
      endpoint === 'responses' ? { type: 'function', ...own } : { type: 'function', function: own },
    ]
    const behaviour = { turns: [{ tool: { name: 'list_models' } }, { tool: { name: 'get_weather', arguments: {} } }] }
    const { items, answer } = await ask(endpoint, { content: prompt(behaviour), stream, more: { tools } })
    expect(items.filter(({ type }) => type === 'mcp_call')).toHaveLength(1)
    if (endpoint === 'responses') {
      expect(items.at(-1)).toMatchObject({ type: 'function_call', name: 'get_weather' })
    } else {
      expect(answer['choices']).toMatchObject([
        {
          finish_reason: 'tool_calls',
          message: { tool_calls: [{ function: { name: 'get_weather', arguments: '{}' } }] },
        },
      ])
    }
  })

  it('tells the model what failed, and goes on', async () => {
    const behaviour: Behaviour = {
      turns: [
        {
          tool: [
            { name: 'chat_completion', arguments: { model: 'none', messages: [] } },
            { name: 'list_models', arguments: '[1' },
          ],
        },
        { text: 'I see.' },
      ],
    }
    const { text, items } = await ask(endpoint, { content: prompt(behaviour), stream })
    expect(text).toBe('I see.')
    const errors = items.filter(({ type }) => type === 'mcp_call').map(({ error }) => error)
    expect(errors).toEqual(
      expect.arrayContaining([expect.stringContaining('INVALID_FIELD'), 'The arguments are not a JSON object.']),
    )
  })

  it('ends with an answer when its rounds are used up', async () => {
    const mark = newMark()
    const behaviour: Behaviour = { turns: Array<Behaviour>(9).fill({ tool: { name: 'list_models', arguments: {} } }) }
    const { items, answer } = await ask(endpoint, { content: prompt(behaviour), stream, mark })
    expect(items.filter(({ type }) => type === 'mcp_call')).toHaveLength(3)
    if (endpoint === 'completions') expect(answer['choices']).toMatchObject([{ finish_reason: 'stop' }])
    await rows(mark, 4)
  }, 60_000)

  it('ends with its client, and so does its round', async () => {
    const mark = newMark()
    const leaving = new AbortController()
    const behaviour: Behaviour = { turns: [{ tool: { name: 'list_models' } }, { ttftMs: 4_000 }] }
    const asked = ask(endpoint, { content: prompt(behaviour), stream, mark, signal: leaving.signal })
    const ended = expect(asked).rejects.toThrow()
    await eventually(async () => {
      expect((await world.gateway.logRows()).filter((row) => row.client_request_id === mark)).toHaveLength(1)
    })
    leaving.abort()
    await ended
    expect(await rows(mark, 2)).toMatchObject([{ status: 200 }, { status: 499, aborted: true }])
  }, 60_000)
})

it.each(
  firstCases<(typeof WAYS)[number]>(1, [
    ['completions', true],
    ['responses', false],
  ]),
)(
  'a chat with tools ends when its time is over, through %s, streamed: %s',
  async (endpoint, stream) => {
    const behaviour: Behaviour = { turns: [{ tool: { name: 'list_models' } }, { ttftMs: 60_000 }] }
    const failure = await ask(endpoint, { content: prompt(behaviour), stream }).catch((cause: unknown) => cause)
    expect(String(failure)).toContain('took longer than 5000 ms')
  },
  30_000,
)

describe.each(firstCases(1, ENDPOINTS))('limits and money of a chat with tools, through %s', (endpoint) => {
  it('are those of its rounds', async () => {
    const limited = await world.key(user, { mcp_tools: ['list_models'], rpm: 2, max_concurrency: 1 })
    const behaviour: Behaviour = {
      turns: [{ tool: { name: 'list_models' } }, { tool: { name: 'list_models' } }, { text: 'done' }],
    }
    const mark = newMark()
    const failure = await ask(endpoint, { content: prompt(behaviour), apiKey: limited.key, mark }).catch(
      (cause: unknown) => cause,
    )
    expect(failure).toMatchObject({ status: 429, code: 'RPM_EXCEEDED' })
    expect((failure as { headers: Headers }).headers.get('x-should-retry')).toBe('false')
    expect((await rows(mark, 3)).map(({ status }) => status)).toEqual([200, 200, 429])
  }, 60_000)

  it('are charged for each round', async () => {
    const id = await world.enterprise(`Acme ${endpoint}`)
    const owner = await world.member(id, 'owner')
    const params = { id }
    const made = await owner.client.expect('createEnterpriseKey', 201, {
      params,
      body: { name: 'k', monthly_budget: 1_000_000, mcp_tools: ['list_models'] },
    })
    const behaviour: Behaviour = { turns: [{ tool: { name: 'list_models' } }, { text: 'done' }] }
    const mark = newMark()
    const { usage } = await ask(endpoint, { content: prompt(behaviour), apiKey: String(made.json['key']), mark })
    const costs = (await rows(mark, 2)).map(({ cost }) => cost)
    expect(costs.every((cost) => cost > 0)).toBe(true)
    expect(sum(costs)).toBe(usage['total_tokens'])
    const keyId = String(made.json['id'])
    await eventually(async () => {
      const { json } = await owner.client.expect('getEnterpriseKey', 200, { params: { ...params, keyId } })
      expect(json['spend']).toMatchObject({ spent: sum(costs), held: 0 })
    })
  }, 60_000)
})

describe('a chat with a registered server', () => {
  it('calls its tools, and log and spend have the rounds and the call', async () => {
    const body = {
      id: 'docs',
      url: server.url,
      allow_all_tools: true,
      price_micro: 2_500,
      access: [{ everyone: true }],
    }
    await world.admin.expect('adminCreateToolServer', 201, { body })
    await world.admin.expect('adminRefreshToolServer', 200, { params: { id: 'docs' } })
    const id = await world.enterprise('Searchers')
    const owner = await world.member(id, 'owner')
    const params = { id }
    const made = await owner.client.expect('createEnterpriseKey', 201, {
      params,
      body: { name: 'k', monthly_budget: 1_000_000, mcp_tools: ['docs__*'] },
    })
    const apiKey = String(made.json['key'])
    const behaviour: Behaviour = {
      turns: [{ tool: { name: 'docs__search', arguments: { query: 'locks' } } }, { text: 'Found.' }],
    }
    const tools = [{ type: 'mcp', server_label: 'docs', allowed_tools: ['search'] }]
    const mark = newMark()
    const { items, usage, text } = await ask('responses', { content: prompt(behaviour), apiKey, mark, more: { tools } })
    expect(text).toBe('Found.')
    expect(items[1]).toMatchObject({
      type: 'mcp_call',
      server_label: 'docs',
      name: 'docs__search',
      output: 'search {"query":"locks"}',
    })
    const rounds = await rows(mark, 2)
    expect(sum(rounds.map(({ cost }) => cost))).toBe(usage['total_tokens'])
    const keyId = String(made.json['id'])
    await eventually(async () => {
      const { json } = await owner.client.expect('getEnterpriseKey', 200, { params: { ...params, keyId } })
      expect(json['spend']).toMatchObject({ spent: Number(usage['total_tokens']) + 2_500, held: 0 })
    })
    const [call] = (await world.gateway.logRows({ key_id: keyId, model: 'docs__search' })) as Array<LogRow & Json>
    expect(call).toMatchObject({ endpoint: 'tools.call', status: 200, cost: 2_500, trace_id: rounds[0]?.trace_id })
    expect(await ask('completions', { content: prompt(behaviour), apiKey, more: { tools } })).toMatchObject({
      items: [{ server_label: 'docs', status: 'completed' }],
    })
  }, 60_000)
})

describe('a client that names servers', () => {
  async function refusal(endpoint: (typeof ENDPOINTS)[number], more: Json, apiKey = key.key): Promise<Json> {
    const path = endpoint === 'responses' ? '/v1/responses' : '/v1/chat/completions'
    const answer = await fetch(`${world.gateway.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(bodyOf(endpoint, 'Hello', more)),
    })
    const { error } = (await answer.json()) as { error: Json }
    return { status: answer.status, ...error }
  }

  it.each(ENDPOINTS)('is told which field is wrong, through %s', async (endpoint) => {
    const named = (more: Json): Json => ({ tools: [{ ...SLUICE, ...more }] })
    const cases: Array<readonly [Json, string]> = [
      [named({ server_url: 'https://example.com/mcp' }), '/tools/0/server_url'],
      [named({ connector_id: 'connector_gmail' }), '/tools/0/connector_id'],
      [named({ require_approval: 'sometimes' }), '/tools/0/require_approval'],
      [named({ server_label: undefined }), '/tools/0/server_label'],
      [named({ server_label: 'nobody' }), '/tools/0/server_label'],
      [named({ allowed_tools: ['list_models', 'nothing'] }), '/tools/0/allowed_tools'],
      [{ tools: [SLUICE, SLUICE] }, '/tools/1/server_label'],
      [{ tools: [SLUICE], tool_choice: { type: 'mcp', server_label: 'sluice' } }, '/tool_choice/name'],
    ]
    for (const [more, param] of cases) {
      expect(await refusal(endpoint, more), JSON.stringify(more)).toMatchObject({ status: 400, param })
    }
    const approved = await refusal('completions', named({ require_approval: 'always' }))
    expect(approved).toMatchObject({ status: 400, param: '/tools/0/require_approval' })
    expect(approved['message']).toContain('use /v1/responses')
    expect(await refusal('completions', { n: 2 })).toMatchObject({ status: 400, param: '/n' })
  })

  it('needs a key that may use tools', async () => {
    const plain = await world.key(user)
    expect(await refusal('completions', {}, plain.key)).toMatchObject({ status: 403, code: 'TOOLS_DENIED' })
    const narrow = await world.key(user, { mcp_tools: ['list_models'] })
    const more = { tools: [{ ...SLUICE, allowed_tools: ['chat_completion'] }] }
    expect(await refusal('completions', more, narrow.key)).toMatchObject({ param: '/tools/0/allowed_tools' })
    expect(await refusal('completions', {}, 'sk-nobody')).toMatchObject({ status: 401, code: 'KEY_UNKNOWN' })
  })

  it('gets the first refusal of a round as it is', async () => {
    expect(await refusal('completions', { model: 'nothing' })).toMatchObject({ status: 404, code: 'MODEL_NOT_FOUND' })
    expect(await refusal('responses', { model: 'nothing', stream: true })).toMatchObject({ status: 404 })
  })

  it('may name the tools and the first of them, and gets long results cut', async () => {
    const more = {
      tools: [{ ...SLUICE, allowed_tools: { tool_names: ['list_models', 'chat_completion'], read_only: true } }],
      tool_choice: { type: 'mcp', server_label: 'sluice', name: 'list_models' },
    }
    const { items, text } = await ask('responses', { content: 'Hello', more })
    expect(items[0]).toMatchObject({ type: 'mcp_list_tools', tools: [{ name: 'list_models' }] })
    expect(items[1]).toMatchObject({ type: 'mcp_call', name: 'list_models' })
    expect(text).toContain('The tool said')
    const long = { tool: { name: 'list_models', arguments: { search: '' } } }
    const asked = { content: prompt({ turns: [long, { text: 'Two.' }] }) }
    const { items: cut } = await ask('completions', asked)
    expect(String(cut[0]?.['output'])).toMatch(/\[cut: the result has \d+ bytes, and 300 of them are here\]$/)
  })

  it('may go on with the items of an earlier response, over another protocol', async () => {
    const content = prompt({ turns: [{ tool: { name: 'list_models' } }, { text: 'One.' }, { text: 'Still one.' }] })
    const openai = client(key.key)
    const tools = [SLUICE] as unknown as OpenAI.Responses.Tool[]
    const first = await openai.responses.create({ model: 'c', input: content, tools })
    expect(first.output.map(({ type }) => type)).toEqual(['mcp_list_tools', 'mcp_call', 'message'])
    const input = [{ role: 'user' as const, content }, ...first.output, { role: 'user' as const, content: 'And now?' }]
    const second = await openai.responses.create({
      model: 'c',
      input: input as OpenAI.Responses.ResponseInput,
      tools,
    })
    expect(second.output.map(({ type }) => type)).toEqual(['message'])
    expect(second.output_text).toBe('Still one.')
  })
})
