import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { arrivals, call, eventsOf, jsonOf, uniqueMark } from '../../support/ai-calls.ts'
import type { Answer } from '../../support/ai-calls.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import type { Json } from '../../support/plain-json.ts'
import { FORM_NAMES, upstreamsOfAllForms } from '../../support/upstream-forms.ts'

// Tools of POST /v1/responses as coding agents declare them: functions, groups of functions, tools of the provider.

const parameters = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }
/** A group with a function whose name another one has as well. */
const GROUP = {
  type: 'namespace',
  name: 'mcp__files',
  description: 'Files of the project.',
  tools: [
    { type: 'function', name: 'read', description: 'Reads one.', parameters, strict: false },
    { type: 'custom', name: 'patch', description: 'Changes one.' },
  ],
}
const READ = { type: 'function', name: 'read', description: 'Reads a mail.', parameters }
const SEARCH = { type: 'web_search', filters: { allowed_domains: ['docs.example.com'] } }

let simulator: Simulator
let gateway: TestGateway

beforeAll(async () => {
  simulator = await startSimulator()
  const searching = {
    dialect: 'anthropic-messages',
    baseUrl: `${simulator.origin}/v1`,
    models: ['searching'],
    more: { quirks: { hosted_tools: ['web_search'] } },
  } as const
  gateway = await startGateway({ upstreams: [...upstreamsOfAllForms(simulator.origin), searching] })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

function responses(body: Record<string, unknown>): Promise<Answer> {
  return call(gateway, { path: '/v1/responses', body: { input: 'Hello there', ...body } })
}

/** The items of an answer, whole or streamed, where the last event repeats what the others said. */
function outputOf(answer: Answer, stream: boolean): Json[] {
  expect([answer.status, answer.status === 200 ? '' : answer.text]).toEqual([200, ''])
  if (!stream) return jsonOf(answer)['output'] as Json[]
  const events: Json[] = eventsOf(answer.text).map(({ data }) => JSON.parse(data))
  const done = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item)
  const last = events.at(-1) ?? {}
  expect([last.type, last.response.output]).toEqual(['response.completed', done])
  return done
}

describe.each(FORM_NAMES)('over an upstream of %s', (model) => {
  it.each([false, true])(
    'a client calls functions of a namespace and gives their results back, streamed: %s',
    async (stream) => {
      const mark = uniqueMark()
      const tools = [READ, GROUP, SEARCH]
      const ask = (input: unknown, more: Record<string, unknown> = {}): Promise<Answer> =>
        responses({ model, stream, tools, input, ...more })
      const question = [{ role: 'user', content: `Read it ${mark}` }]
      const chosen = { type: 'function', name: 'read', namespace: GROUP.name }
      const first = outputOf(await ask(question, { tool_choice: chosen }), stream)
      const made = first.find(({ type }) => type === 'function_call')
      expect(made).toMatchObject({ name: 'read', namespace: GROUP.name, arguments: '{"path":"example"}' })

      const result = { type: 'function_call_output', call_id: made?.call_id, output: 'sunny' }
      const answer = await ask([...question, ...first, result])
      expect(JSON.stringify(outputOf(answer, stream))).toContain('The tool said: sunny')
      expect(answer.headers.get('x-sluice-dropped')?.split(', ')).toContain('tools.web_search')

      const [before, after] = arrivals(simulator, mark).map(({ body }) => body)
      for (const name of [before, after].flatMap((body) => [...String(body).matchAll(/"name":"([^"]*)"/g)])) {
        expect(name[1]).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
      }
      // The call in the history has the name under which its function is declared, and the group's other members theirs.
      const [, declared = ''] = /"name":"(mcp__files_read_\w+)"/.exec(before ?? '') ?? []
      expect(after?.split(`"name":"${declared}"`).length).toBeGreaterThan(2)
      expect(after).toMatch(/"name":"mcp__files_patch_\w+"/)
      expect(after).toContain('Files of the project.')
    },
  )

  it('refuses a choice of a tool of the provider that the upstream does not have', async () => {
    const shapes = [
      { tool_choice: { type: 'web_search' }, tools: [READ, SEARCH] },
      { tool_choice: { type: 'file_search' }, tools: [READ] },
      { tool_choice: 'required', tools: [SEARCH] },
      {
        tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'web_search' }] },
        tools: [READ, SEARCH],
      },
    ]
    for (const shape of shapes) {
      const answer = await responses({ model, ...shape })
      expect([answer.status, jsonOf(answer)]).toMatchObject([
        400,
        { error: { code: 'UNSUPPORTED_FIELD', param: '/tool_choice' } },
      ])
    }
  })
})

it('calls a custom tool of a namespace', async () => {
  const tool_choice = { type: 'custom', name: 'patch', namespace: GROUP.name }
  const output = outputOf(await responses({ model: 'anthropic-messages', tools: [GROUP], tool_choice }), false)
  expect(output.find(({ type }) => type === 'custom_tool_call')).toMatchObject({
    name: 'patch',
    namespace: GROUP.name,
    input: 'example',
  })
})

it('lets all functions of an allowed namespace be called, and no others', async () => {
  const mark = uniqueMark()
  const tool_choice = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'namespace', name: GROUP.name }] }
  await responses({ model: 'openai-chat', input: mark, tools: [READ, GROUP], tool_choice })
  const { tools } = JSON.parse(arrivals(simulator, mark)[0]?.body ?? '')
  expect(tools.map(({ function: made, custom }: Json) => (made ?? custom).name)).toEqual([
    expect.stringMatching(/^mcp__files_read_/),
    expect.stringMatching(/^mcp__files_patch_/),
  ])
})

it('searches the web where the upstream has a search, and can be made to', async () => {
  const mark = uniqueMark()
  const place = { type: 'approximate', city: 'Bern' }
  const tools = [READ, { ...SEARCH, user_location: place }]
  const answer = await responses({ model: 'searching', input: mark, tools, tool_choice: { type: 'web_search' } })
  expect([answer.status, answer.headers.get('x-sluice-dropped')]).toEqual([200, null])
  const body = JSON.parse(arrivals(simulator, mark)[0]?.body ?? '')
  expect(body.tools[1]).toEqual({
    type: 'web_search_20250305',
    name: 'web_search',
    allowed_domains: ['docs.example.com'],
    user_location: place,
  })
  expect(body.tool_choice).toEqual({ type: 'tool', name: 'web_search' })

  const cached = await responses({ model: 'searching', tools: [{ ...SEARCH, external_web_access: false }] })
  expect(cached.headers.get('x-sluice-dropped')).toBe('tools.web_search')
})

it.each([
  [{ tools: [{ type: 'namespace', tools: [READ] }] }, '/tools/0/name'],
  [{ tools: [{ type: 'namespace', name: 'g' }] }, '/tools/0/tools'],
  [{ tools: [{ ...GROUP, tools: [READ, { type: 'function' }] }] }, '/tools/0/tools/1/name'],
  [{ tools: [{ ...GROUP, tools: [SEARCH] }] }, '/tools/0/tools/0/type'],
  [{ tool_choice: {} }, '/tool_choice/type'],
])('names the bad field of %j', async (members, param) => {
  const answer = await responses({ model: 'openai-chat', ...members })
  expect([answer.status, jsonOf(answer)]).toMatchObject([400, { error: { param } }])
})

it.each(FORM_NAMES)('takes instructions without an input over an upstream of %s', async (model) => {
  for (const input of [[], undefined, null, '']) {
    const answer = await responses({ model, input, instructions: 'Say hello.' })
    expect([answer.status, jsonOf(answer)]).toMatchObject([200, { status: 'completed' }])
  }
})
