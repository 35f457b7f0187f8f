import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Behaviour } from '../../../src/simulator/behaviour.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { arrivals } from '../../support/ai-calls.ts'
import { McpWorld } from '../../support/mcp-world.ts'
import { UpstreamToolServer } from '../../support/upstream-tool-server.ts'

type Json = Record<string, unknown>
interface Item extends Json {
  readonly type: string
}

let simulator: Simulator
let server: UpstreamToolServer
let world: McpWorld
let key: string
let otherKey: string

beforeAll(async () => {
  simulator = await startSimulator()
  server = await UpstreamToolServer.start()
  server.tools = [
    { name: 'look', description: 'Looks.', annotations: { readOnlyHint: true } },
    { name: 'delete', description: 'Deletes.' },
  ]
  world = await McpWorld.start({
    upstreams: [
      { id: 'up', dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] },
      { id: 'other', dialect: 'anthropic-messages', baseUrl: `${simulator.origin}/v1`, models: ['c'] },
    ],
    config: { management: { private_upstreams: ['127.0.0.1'] } },
  })
  const body = { id: 'files', url: server.url, allow_all_tools: true, access: [{ everyone: true }] }
  await world.admin.expect('adminCreateToolServer', 201, { body })
  await world.admin.expect('adminRefreshToolServer', 200, { params: { id: 'files' } })
  const user = await world.user()
  key = (await world.key(user, { mcp_tools: ['files__*'] })).key
  otherKey = (await world.key(user, { mcp_tools: ['files__*'] })).key
}, 120_000)

afterAll(async () => {
  await world.gateway.stop()
  await server.stop()
  await simulator.close()
})

const prompt = (behaviour: Behaviour, mark = ''): Item => ({
  type: 'message',
  role: 'user',
  content: `Clean up ${mark} [[sim ${JSON.stringify(behaviour)}]]`,
})
const DELETE = { name: 'files__delete', arguments: { path: 'a.txt' } }
const LOOK = { name: 'files__look', arguments: {} }
const ANSWERED: Behaviour = { turns: [{ tool: DELETE }, { text: 'Done.' }] }

interface Asked {
  readonly approval?: unknown
  readonly stream?: boolean
  readonly model?: string
  readonly apiKey?: string
}

/** Asks as the official library does. */
async function ask(
  input: readonly Item[],
  { approval = 'always', stream = false, model = 'm', apiKey = key }: Asked = {},
): Promise<{ readonly output: Item[]; readonly types: string[]; readonly text: string }> {
  const { responses } = new OpenAI({ apiKey, baseURL: `${world.gateway.url}/v1`, maxRetries: 0 })
  const tools = [{ type: 'mcp', server_label: 'files', require_approval: approval }]
  const body = { model, input, tools } as unknown as OpenAI.Responses.ResponseCreateParamsNonStreaming
  if (!stream) {
    const { output, output_text: text } = await responses.create(body)
    return { output: output as unknown as Item[], types: [], text }
  }
  const events = responses.stream(body as unknown as OpenAI.Responses.ResponseCreateParamsStreaming)
  const types: string[] = []
  for await (const event of events) {
    expect(event.sequence_number).toBe(types.length)
    types.push(event.type)
  }
  const { output, output_text: text } = await events.finalResponse()
  return { output: output as unknown as Item[], types, text }
}

const approvalOf = (output: readonly Item[]): Item =>
  output.find(({ type }) => type === 'mcp_approval_request') ?? expect.fail('no approval request')

function answerTo(request: Item, approve: unknown, more: Json = {}): Item {
  return { type: 'mcp_approval_response', approval_request_id: request['id'], approve, ...more }
}

const refusal = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => expect.fail('was not refused'),
    (cause: unknown) => cause,
  )

describe.each([
  ['m', true],
  ['m', false],
  ['c', true],
])('a response of the model %s whose calls need approval, streamed: %s', (model, stream) => {
  it('asks, makes the call once it is approved, and goes on', async () => {
    const input = [prompt(ANSWERED)]
    const before = server.calls
    const first = await ask(input, { model, stream })
    expect(first.output.map(({ type }) => type)).toEqual(['mcp_list_tools', 'mcp_approval_request'])
    const request = approvalOf(first.output)
    expect(request).toMatchObject({
      server_label: 'files',
      name: 'files__delete',
      arguments: '{"path":"a.txt"}',
      id: expect.stringMatching(/^mcpr_/) as string,
    })
    expect(server.calls).toBe(before)
    const approved = [...input, ...first.output, answerTo(request, true)]
    const second = await ask(approved, { model, stream })
    expect(server.calls).toBe(before + 1)
    expect(second.output).toMatchObject([
      { type: 'mcp_call', approval_request_id: request['id'], output: 'delete {"path":"a.txt"}', error: null },
      { type: 'message' },
    ])
    expect(second.text).toBe('Done.')
    if (stream) {
      expect(second.types.slice(0, 7)).toEqual([
        'response.created',
        'response.in_progress',
        'response.output_item.added',
        'response.mcp_call.in_progress',
        'response.mcp_call_arguments.delta',
        'response.mcp_call_arguments.done',
        'response.mcp_call.completed',
      ])
    }
    const third = await ask([...approved, ...second.output, prompt({ turns: [{ text: 'Still done.' }] })], {
      model,
      stream,
    })
    expect([third.text, server.calls]).toEqual(['Still done.', before + 1])
  })

  it('tells the model of a refusal, and makes no call', async () => {
    const mark = `refused-${model}-${String(stream)}`
    const input = [prompt({ turns: [{ tool: DELETE }, { text: 'I leave it.' }] }, mark)]
    const before = server.calls
    const first = await ask(input, { model, stream })
    const answer = answerTo(approvalOf(first.output), false, { reason: 'It is needed.' })
    const second = await ask([...input, ...first.output, answer], { model, stream })
    expect(second.output.map(({ type }) => type)).toEqual(['message'])
    expect([second.text, server.calls]).toEqual(['I leave it.', before])
    expect(arrivals(simulator, mark).at(-1)?.body).toContain('did not approve this call. The reason: It is needed.')
  })
})

describe('the rule for approvals', () => {
  it.each([
    [{ always: { tool_names: ['delete'] } }, ['look'], ['delete']],
    [{ never: { tool_names: ['files__look'] } }, ['look'], ['delete']],
    [{ never: { read_only: true } }, ['look'], ['delete']],
    [{ always: { tool_names: ['look'] }, never: { tool_names: ['look'] } }, [], ['look', 'delete']],
    ['always', [], ['look', 'delete']],
    ['never', ['look', 'delete'], []],
    [undefined, ['look', 'delete'], []],
  ])('%j calls %j at once, and asks for %j', async (approval, called, asked) => {
    const input = [prompt({ turns: [{ tool: [LOOK, DELETE] }, { text: 'Done.' }] })]
    const { output } = await ask(input, { approval: approval ?? null })
    const namesOf = (type: string): unknown[] =>
      output.filter((item) => item.type === type).map(({ name }) => String(name).replace('files__', ''))
    expect([namesOf('mcp_call').sort(), namesOf('mcp_approval_request').sort()]).toEqual([
      [...called].sort(),
      [...asked].sort(),
    ])
    expect(output.some(({ type }) => type === 'message')).toBe(asked.length === 0)
  })
})

describe('an approval', () => {
  const asking = async (): Promise<{ readonly before: Item[]; readonly request: Item }> => {
    const input = [prompt(ANSWERED)]
    const { output } = await ask(input)
    const before = [...input, ...output.filter(({ type }) => type !== 'mcp_approval_request')]
    return { before, request: approvalOf(output) }
  }

  it('is for the call alone that the gateway asked for', async () => {
    const { before, request } = await asking()
    const calls = server.calls
    for (const more of [
      { arguments: '{"path":"/"}' },
      { name: 'files__look' },
      { id: `mcpr_${'A'.repeat(48)}` },
      { id: 'made-up' },
    ]) {
      const changed = { ...request, ...more }
      expect(await refusal(ask([...before, changed, answerTo(changed, true)]))).toMatchObject({
        status: 400,
        param: `/input/${before.length}`,
        message: expect.stringContaining('send it back as it was') as string,
      })
    }
    const stolen = ask([...before, request, answerTo(request, true)], { apiKey: otherKey })
    expect(await refusal(stolen)).toMatchObject({ status: 400, param: `/input/${before.length}` })
    expect(server.calls).toBe(calls)
  })

  it('that is not whole is refused, with the fix', async () => {
    const { before, request } = await asking()
    const cases: Array<readonly [Item[], string]> = [
      [[answerTo(request, true)], `/input/${before.length}/approval_request_id`],
      [[request, answerTo(request, 'yes')], `/input/${before.length + 1}/approve`],
      [[request, answerTo(request, true), answerTo(request, false)], `/input/${before.length + 2}/approval_request_id`],
    ]
    for (const [items, param] of cases) {
      expect(await refusal(ask([...before, ...items]))).toMatchObject({ status: 400, param })
    }
  })

  it('that nobody gives is no call', async () => {
    const { before, request } = await asking()
    const calls = server.calls
    const { text } = await ask([...before, request, prompt({ turns: [{ text: 'Something else.' }] })])
    expect([text, server.calls]).toEqual(['Something else.', calls])
  })

  it('has a rule that is checked', async () => {
    for (const [approval, member] of [
      ['sometimes', ''],
      [{ sometimes: {} }, ''],
      [{ always: 'all' }, '/always'],
      [{ never: { tool_names: 'look' } }, '/never/tool_names'],
      [{ always: { tool_names: ['nothing'] } }, ''],
    ] as const) {
      expect(await refusal(ask([prompt({})], { approval }))).toMatchObject({
        status: 400,
        param: `/tools/0/require_approval${member}`,
      })
    }
  })
})
