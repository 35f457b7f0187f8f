import Anthropic from '@anthropic-ai/sdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { arrivals, call, chat, expectRow, jsonOf, messages, steering, uniqueMark } from '../../support/ai-calls.ts'
import type { Answer } from '../../support/ai-calls.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import type { Json } from '../../support/plain-json.ts'
import { loadFixtures } from '../../support/recorded-fixtures.ts'
import { TokenEndpoint } from '../../support/token-endpoint.ts'

const CITES =
  'anthropic-messages/anthropic-chat-citations-with-anthropic-claude-haiku-4-5-cites-text-documents-in-responses'
const STREAMS_CITATIONS =
  'anthropic-messages/anthropic-chat-citations-with-anthropic-claude-haiku-4-5-streams-citations'
const PLACE = '/v1/projects/our-project/locations/us-east5'
const CLAUDE = 'anthropic.claude-haiku-4-5-20251001-v1:0'

let simulator: Simulator
let tokens: TokenEndpoint
let gateway: TestGateway

beforeAll(async () => {
  ;[simulator, tokens] = await Promise.all([startSimulator(), TokenEndpoint.start()])
  for (const { id, kind, response } of loadFixtures((fixture) => [CITES, STREAMS_CITATIONS].includes(fixture.id))) {
    const type = kind === 'stream' ? 'text/event-stream' : 'application/json'
    simulator.record({ id, status: 200, headers: { 'content-type': type }, body: response, splits: null })
  }
  const { origin } = simulator
  const credential = JSON.stringify(tokens.account)
  gateway = await startGateway({
    config: { video: { poll_first_ms: 50, poll_max_ms: 100 } },
    upstreams: [
      { id: 'first', dialect: 'anthropic-messages', baseUrl: `${origin}/v1`, models: ['first-party'] },
      {
        id: 'invoke',
        dialect: 'bedrock-invoke',
        baseUrl: origin,
        models: [],
        keys: [{ credential: 'AKIDEXAMPLE:secret:session' }],
        more: { models: [{ id: 'invoke', upstream_model: CLAUDE }] },
      },
      {
        id: 'converse',
        dialect: 'bedrock-converse',
        baseUrl: origin,
        models: [],
        more: { models: [{ id: 'converse', upstream_model: CLAUDE }] },
      },
      {
        id: 'vertex',
        dialect: 'anthropic-vertex',
        baseUrl: origin + PLACE,
        models: ['vertex'],
        keys: [{ credential }, { credential: 'static-token', priority: 1 }],
      },
      {
        id: 'without-tokens',
        dialect: 'anthropic-vertex',
        baseUrl: origin + PLACE,
        models: ['without-tokens'],
        keys: [
          { credential: JSON.stringify({ ...tokens.account, token_uri: 'http://127.0.0.1:1/token' }) },
          { credential: 'another-token', priority: 1 },
        ],
      },
      {
        id: 'vertex-gemini',
        dialect: 'gemini',
        baseUrl: origin + PLACE,
        models: ['vertex-gemini'],
        keys: [{ credential }],
      },
      {
        id: 'films',
        dialect: 'gemini',
        baseUrl: origin,
        models: ['veo-3'],
        keys: [{ credential }],
        more: { auth: 'google' },
      },
      {
        id: 'azure',
        dialect: 'openai-chat',
        baseUrl: origin,
        models: ['our-gpt', 'our-embeddings'],
        more: { api_version: '2024-10-21', auth: 'api-key' },
      },
    ],
  })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
  await tokens.close()
})

/** What the upstream got of the request with `mark`. */
function arrived(mark: string): { path: string; query: string; credential: string; headers: Json; body: Json } {
  const [request] = arrivals(simulator, mark)
  if (request === undefined) throw new Error('nothing has arrived')
  const { path, query, credential, headers, body } = request
  return { path, query, credential, headers, body: JSON.parse(body) }
}

function droppedOf(answer: Answer): string[] {
  return (answer.headers.get('x-sluice-dropped') ?? '').split(', ').filter((name) => name !== '')
}

describe('bug 27: beta flags', () => {
  const FLAGS = 'context-1m-2025-08-07,claude-code-20250219, advanced-tool-use-2025-11-20,context-management-2025-06-27'
  const KNOWN = ['context-1m-2025-08-07', 'tool-search-tool-2025-10-19', 'context-management-2025-06-27']
  const edits = { edits: [{ type: 'clear_tool_uses_20250919' }] }

  function ask(model: string, mark: string, flags: string | null = FLAGS): Promise<Answer> {
    const tools = [{ name: 't', input_schema: { type: 'object' }, defer_loading: true }]
    const members = { model, messages: steering({}, mark), tools, context_management: edits, speed: 'fast' }
    return messages(gateway, members, { 'anthropic-beta': flags })
  }

  it('reach the first party whole, with the fields that they allow', async () => {
    const mark = uniqueMark()
    const answer = await ask('first-party', mark)
    const { headers, body } = arrived(mark)
    expect([answer.status, droppedOf(answer)]).toEqual([200, []])
    expect(headers['anthropic-beta']).toBe(FLAGS)
    expect(body).toMatchObject({ context_management: edits, speed: 'fast', tools: [{ defer_loading: true }] })
    expect(body).not.toHaveProperty('anthropic_beta')
  })

  it('reach Bedrock in the body, those that it knows, with the fields that they allow', async () => {
    const mark = uniqueMark()
    const answer = await ask('invoke', mark)
    const { path, headers, body } = arrived(mark)
    expect([answer.status, droppedOf(answer)]).toEqual([200, ['anthropic-beta', 'speed']])
    expect(path).toBe(`/model/${encodeURIComponent(CLAUDE)}/invoke`)
    expect(headers).not.toHaveProperty('anthropic-beta')
    expect(body).toMatchObject({ anthropic_beta: KNOWN, context_management: edits, tools: [{ defer_loading: true }] })
  })

  it('reach Vertex in the header, those that it knows', async () => {
    const mark = uniqueMark()
    const answer = await ask('vertex', mark)
    const { path, headers, body } = arrived(mark)
    expect([answer.status, droppedOf(answer)]).toEqual([200, ['anthropic-beta', 'speed']])
    expect(path).toBe(`${PLACE}/publishers/anthropic/models/vertex:rawPredict`)
    expect(headers['anthropic-beta']).toBe(KNOWN.join(','))
    expect(body).not.toHaveProperty('anthropic_beta')
    expect(body).toMatchObject({ context_management: edits })
  })

  it('reach a model of the same maker through Converse among the fields of the model', async () => {
    const mark = uniqueMark()
    expect((await ask('converse', mark)).status).toBe(200)
    expect(arrived(mark).body.additionalModelRequestFields).toEqual({ anthropic_beta: KNOWN })
  })

  it.each(['invoke', 'vertex'])(
    'take with them, where there are none, the fields that need them: %s',
    async (model) => {
      const answer = await ask(model, uniqueMark(), null)
      expect([answer.status, droppedOf(answer)]).toEqual([200, ['context_management', 'speed', 'tools.defer_loading']])
    },
  )

  it.each(['our-gpt', 'vertex-gemini'])('reach no other dialect: %s', async (model) => {
    const mark = uniqueMark()
    expect((await ask(model, mark)).status).toBe(200)
    const { headers, body } = arrived(mark)
    expect(headers).not.toHaveProperty('anthropic-beta')
    expect(body).not.toHaveProperty('anthropic_beta')
  })

  it('are set by the official client as for the first party', async () => {
    const client = new Anthropic({ apiKey: gateway.apiKey, baseURL: gateway.url, maxRetries: 0 })
    const betas = ['context-1m-2025-08-07', 'files-api-2025-04-14']
    for (const model of ['first-party', 'invoke', 'vertex']) {
      const request = { model, max_tokens: 50, betas, messages: [{ role: 'user' as const, content: 'Hello there' }] }
      expect((await client.beta.messages.create(request)).stop_reason).toBe('end_turn')
      const streamed = await client.beta.messages.stream(request).finalMessage()
      expect(streamed.content).toMatchObject([{ type: 'text', text: 'You said: Hello there' }])
    }
  })
})

describe('credentials of clouds', () => {
  it('sign what goes to Bedrock, with the token of a session', async () => {
    const mark = uniqueMark()
    expect((await messages(gateway, { model: 'invoke', messages: steering({}, mark) })).status).toBe(200)
    const { credential, headers } = arrived(mark)
    expect(credential).toBe('AKIDEXAMPLE')
    expect(headers).toMatchObject({ 'x-amz-security-token': 'session' })
    expect(JSON.stringify(headers)).not.toContain('secret')
  })

  it('are access tokens for service accounts, each fetched once, for every dialect that Vertex speaks', async () => {
    for (const model of ['vertex', 'vertex-gemini', 'vertex']) {
      const mark = uniqueMark()
      expect((await chat(gateway, { model, messages: steering({}, mark) })).status).toBe(200)
      const { credential, headers } = arrived(mark)
      expect(credential).toBe('token-1')
      expect(JSON.stringify(headers)).not.toContain('PRIVATE KEY')
    }
    expect(tokens.given).toBe(1)
  })

  it('are those of the next key where no token can be had', async () => {
    const mark = uniqueMark()
    const answer = await chat(gateway, { model: 'without-tokens', messages: steering({}, mark) })
    expect([answer.status, arrived(mark).credential]).toEqual([200, 'another-token'])
    await expectRow(gateway, answer, { status: 200, attempts: 2 })
  })

  it('are access tokens for looks at a video as well', async () => {
    const body = { model: 'veo-3', prompt: `waves ${uniqueMark()} [[sim {"video":{"pendingPolls":1}}]]` }
    const before = simulator.requests().length
    const answer = await call(gateway, { path: '/v1/video/generations', body })
    const { data } = jsonOf(answer) as { data: { url: string }[] }
    expect([answer.status, (await fetch(data[0]?.url ?? '')).status]).toEqual([200, 200])
    const requests = simulator.requests().slice(before)
    expect(requests.length).toBeGreaterThan(2)
    for (const { credential } of requests) expect(credential).toBe('token-1')
  })

  it('are taken out of service when the cloud refuses them, and the next key serves', async () => {
    simulator.configureKey('token-1', { status: 403 })
    const mark = uniqueMark()
    const answer = await chat(gateway, { model: 'vertex', messages: steering({}, mark) })
    expect(answer.status).toBe(200)
    expect(arrivals(simulator, mark).map(({ credential }) => credential)).toEqual(['token-1', 'static-token'])
    await expectRow(gateway, answer, { status: 200, attempts: 2 })
  })
})

it('counts the tokens of a prompt for a cloud that is not asked to', async () => {
  for (const model of ['invoke', 'vertex']) {
    const answer = await call(gateway, {
      path: '/v1/messages/count_tokens',
      body: { model, messages: [{ role: 'user', content: 'How many tokens are these few words?' }] },
    })
    expect([answer.status, jsonOf(answer)]).toEqual([200, { input_tokens: expect.any(Number) }])
    expect(jsonOf(answer)['input_tokens']).toBeGreaterThan(5)
  }
})

describe('Azure', () => {
  it('is asked at the path of the deployment, with the version and the key in its own header', async () => {
    const mark = uniqueMark()
    expect((await chat(gateway, { model: 'our-gpt', messages: steering({}, mark) })).status).toBe(200)
    const { path, query, headers } = arrived(mark)
    expect(path).toBe('/openai/deployments/our-gpt/chat/completions')
    expect(query).toBe('api-version=2024-10-21')
    expect(headers).toHaveProperty('api-key')
    expect(headers).not.toHaveProperty('authorization')
  })

  it('is asked for embeddings in the same way', async () => {
    const mark = uniqueMark()
    const answer = await call(gateway, { path: '/v1/embeddings', body: { model: 'our-embeddings', input: mark } })
    expect(answer.status).toBe(200)
    expect(arrived(mark)).toMatchObject({
      path: '/openai/deployments/our-embeddings/embeddings',
      query: 'api-version=2024-10-21',
    })
  })

  it('has its refusals told as they are', async () => {
    const answer = await chat(gateway, { model: 'our-gpt', stream_options: { include_usage: true } })
    expect([answer.status, jsonOf(answer)['error']]).toMatchObject([
      400,
      { message: expect.stringMatching(/stream_options/) },
    ])
  })
})

describe('what clouds cannot be given', () => {
  const url = 'https://pictures.example/a.png'

  it.each(['invoke', 'vertex', 'converse'])(
    'a picture by its address is refused with the field and the way out: %s',
    async (model) => {
      const picture = { type: 'image_url', image_url: { url } }
      const ofChat = await chat(gateway, { model, messages: [{ role: 'user', content: [picture] }] })
      expect([ofChat.status, jsonOf(ofChat)['error']]).toMatchObject([
        400,
        {
          code: 'UNSUPPORTED_FIELD',
          param: '/messages/content/image_url/url',
          message: expect.stringMatching(/data URL/),
        },
      ])
      const image = { type: 'image', source: { type: 'url', url } }
      const ofMessages = await messages(gateway, { model, messages: [{ role: 'user', content: [image] }] })
      expect([ofMessages.status, jsonOf(ofMessages)['error']]).toMatchObject([
        400,
        { message: expect.stringMatching(/messages\.content\.source\.url.*"base64"/) },
      ])
      const input = [{ role: 'user', content: [{ type: 'input_image', image_url: url }] }]
      const ofResponses = await call(gateway, { path: '/v1/responses', body: { model, input } })
      expect([ofResponses.status, jsonOf(ofResponses)['error']]).toMatchObject([
        400,
        { param: '/input/content/image_url', message: expect.stringMatching(/data URL/) },
      ])
    },
  )

  it.each(['invoke', 'vertex', 'converse', 'first-party', 'vertex-gemini'])('several answers: %s', async (model) => {
    const answer = await chat(gateway, { model, n: 2 })
    expect([answer.status, jsonOf(answer)['error']]).toMatchObject([
      400,
      { code: 'UNSUPPORTED_FIELD', param: '/n', message: expect.stringMatching(/send the request n times/) },
    ])
  })
})

describe('citations that the client has no place for', () => {
  it('are named in the header of a whole answer', async () => {
    const answer = await chat(gateway, { model: 'first-party', messages: steering({ recorded: CITES }) })
    expect([answer.status, droppedOf(answer)]).toEqual([200, ['content.citations']])
  })

  it('are named in the log of a streamed one', async () => {
    const asked = { model: 'first-party', stream: true, messages: steering({ recorded: STREAMS_CITATIONS }) }
    const answer = await chat(gateway, asked)
    await expectRow(gateway, answer, { status: 200 })
    const headers = { authorization: `Bearer ${await gateway.adminToken()}` }
    const { attempts } = jsonOf(await call(gateway, { path: `/v1/admin/logs/${answer.id}`, headers }))
    expect(attempts).toMatchObject([{ outcome: 'ok', dropped: ['content.citations'] }])
  })
})
