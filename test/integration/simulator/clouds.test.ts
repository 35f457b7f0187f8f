import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Answer } from '../../../src/shared/core/answer.ts'
import type { StreamDecoder } from '../../../src/shared/core/codec.ts'
import { azurePath } from '../../../src/dialects/azure-openai/address.ts'
import { vertexMessagesPath } from '../../../src/dialects/anthropic-vertex/address.ts'
import { bedrockPath } from '../../../src/dialects/bedrock-converse/address.ts'
import { ConverseDecoder } from '../../../src/dialects/bedrock-converse/decoder.ts'
import { parseAnswer as parseConverse } from '../../../src/dialects/bedrock-converse/parse-answer.ts'
import { CohereDecoder } from '../../../src/dialects/cohere-chat/decoder.ts'
import { parseAnswer as parseCohere } from '../../../src/dialects/cohere-chat/parse-answer.ts'
import { startSimulator, type Simulator } from '../../../src/simulator/simulator.ts'
import { signAwsRequest } from '../../../src/front/upstream/aws-signature.ts'
import { readAwsFrame } from '../../../src/shared/wire/aws-event-stream.ts'
import { comparableBlocks } from '../../support/answer-blocks.ts'
import { decodeStream } from '../../support/decode-stream.ts'
import { readStream } from '../../support/stream-reader.ts'
import { eventsOf } from './raw-client.ts'
import { post, type Json } from './requests.ts'

let simulator: Simulator

beforeAll(async () => {
  simulator = await startSimulator({})
})
beforeEach(() => {
  simulator.reset()
})
afterAll(() => simulator.close())

const MODEL = 'us.anthropic.claude-haiku-4-5-20251001-v1:0'
const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

function converse(content: unknown, more: object = {}): object {
  return { messages: [{ role: 'user', content }], ...more }
}

function bedrock(operation: Parameters<typeof bedrockPath>[1], body: unknown, headers = {}): Promise<Response> {
  return post(simulator.origin + bedrockPath(MODEL, operation), body, headers)
}

async function decoded(response: Response, decoder: StreamDecoder, framing: 'sse' | 'aws-event-stream') {
  const chunks: Buffer[] = []
  for await (const chunk of response.body ?? []) chunks.push(Buffer.from(chunk as Uint8Array))
  return readStream(decodeStream(decoder, framing, chunks))
}

describe('Converse', () => {
  const tools = { toolConfig: { tools: [{ toolSpec: { name: 'get_weather', inputSchema: { json: SCHEMA } } }] } }

  it('says in a stream of frames what it says at once', async () => {
    for (const body of [converse([{ text: 'Größe 了解 👍🏽' }]), converse([{ text: 'use get_weather' }], tools)]) {
      const whole = parseConverse(await (await bedrock('converse', body)).json()) as Answer
      const response = await bedrock('converse-stream', body)
      expect(response.headers.get('content-type')).toBe('application/vnd.amazon.eventstream')
      const { blocks, end } = await decoded(response, new ConverseDecoder(), 'aws-event-stream')
      const strip = (seen: unknown[]): unknown => JSON.parse(JSON.stringify(seen).replaceAll(/tooluse_\w+/g, 'id'))
      expect(strip(comparableBlocks(blocks))).toEqual(strip(comparableBlocks(whole.content)))
      expect(end?.stop).toEqual(whole.stop)
      expect(end?.usage).toEqual(whole.usage)
    }
    expect(simulator.stats()).toMatchObject({ ok: 4 })
  })

  it('takes images, and goes on behind results of tools', async () => {
    const messages = [
      { role: 'user', content: [{ text: 'Look' }, { image: { format: 'png', source: { bytes: PIXEL } } }] },
      { role: 'assistant', content: [{ toolUse: { toolUseId: 'a-1', name: 'get_weather', input: { city: 'Rome' } } }] },
      { role: 'user', content: [{ toolResult: { toolUseId: 'a-1', content: [{ text: 'sunny' }] } }] },
    ]
    const answer = parseConverse(await (await bedrock('converse', { messages, ...tools })).json()) as Answer
    expect(answer.content).toMatchObject([{ text: 'The tool said: sunny' }])
  })

  it.each([
    ['a blank text', converse([{ text: ' ' }]), 'The text field in the ContentBlock is blank.'],
    ['no content', converse([]), 'The content field in the Message object is empty.'],
    ['tools used but not declared', toolTurns('a-1'), 'The toolConfig field must be defined'],
    ['ids that do not fit', { ...toolTurns('a b'), ...tools }, 'Value at toolUseId failed to satisfy constraint'],
    ['a call without its result', { ...toolTurns('a-1', 'b-1'), ...tools }, 'Expected toolResult blocks'],
  ])('refuses %s in the words of the service', async (_what, body, message) => {
    const response = await bedrock('converse', body)
    expect(response.status).toBe(400)
    expect(response.headers.get('x-amzn-errortype')).toMatch(/^ValidationException:/)
    expect(((await response.json()) as Json).message).toContain(message)
  })

  function toolTurns(call: string, result = call): { messages: object[] } {
    return {
      messages: [
        { role: 'user', content: [{ text: 'hi' }] },
        { role: 'assistant', content: [{ toolUse: { toolUseId: call, name: 'get_weather', input: {} } }] },
        { role: 'user', content: [{ toolResult: { toolUseId: result, content: [{ text: 'x' }] } }] },
      ],
    }
  }

  it('knows who signed a request, and lets others in with 403 only', async () => {
    simulator.setDefaults({ requireKey: ['AKIDEXAMPLE'] })
    const body = Buffer.from(JSON.stringify(converse([{ text: 'hi' }])))
    const path = bedrockPath(MODEL, 'converse')
    const signed = signAwsRequest(
      {
        method: 'POST',
        host: new URL(simulator.origin).host,
        path,
        region: 'us-east-1',
        service: 'bedrock',
        headers: {},
        body,
      },
      { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret', sessionToken: null },
      Date.now(),
    )
    expect((await fetch(simulator.origin + path, { method: 'POST', body, headers: signed })).status).toBe(200)
    const refused = await bedrock('converse', converse([{ text: 'hi' }]))
    expect(refused.status).toBe(403)
    expect(refused.headers.get('x-amzn-errortype')).toMatch(/^UnrecognizedClientException/)
  })

  it.each(['error-event-mid', 'close-mid-stream', 'no-terminal', 'garbage-event', 'truncated-json'] as const)(
    'ends a stream with %s in an error',
    async (fault) => {
      simulator.setDefaults({ fault })
      const response = await bedrock('converse-stream', converse([{ text: 'one two three four five six seven' }]))
      const { failure } = await decoded(response, new ConverseDecoder(), 'aws-event-stream').catch(
        (cause: unknown) => ({
          failure: cause,
        }),
      )
      expect(failure).toBeTruthy()
      if (fault === 'error-event-mid') expect(failure).toMatchObject({ type: 'internalServerException' })
    },
  )
})

describe('messages through InvokeModel', () => {
  const body = { anthropic_version: 'bedrock-2023-05-31', max_tokens: 50, messages: [{ role: 'user', content: 'hi' }] }

  it('has the events of the dialect in its frames', async () => {
    expect(await (await bedrock('invoke', body)).json()).toMatchObject({ content: [{ text: 'You said: hi' }] })
    const response = await bedrock('invoke-with-response-stream', body)
    const bytes = Buffer.from(await response.arrayBuffer())
    const types: unknown[] = []
    for (let at = 0; at < bytes.length; at += bytes.readUInt32BE(at)) {
      const { payload } = readAwsFrame(bytes, at, at + bytes.readUInt32BE(at)) ?? {}
      const chunk = JSON.parse(String(payload)) as { bytes: string }
      types.push((JSON.parse(Buffer.from(chunk.bytes, 'base64').toString()) as { type: string }).type)
    }
    expect(types[0]).toBe('message_start')
    expect(types.at(-1)).toBe('message_stop')
  })

  it.each([
    ['a flag that it does not know', { anthropic_beta: ['claude-code-20250219'] }, 'invalid beta flag'],
    ['a field of the first party', { service_tier: 'auto' }, 'service_tier: Extra inputs are not permitted'],
    ['a field without its flag', { context_management: {} }, 'context_management: Extra inputs are not permitted'],
    [
      'a picture by its address',
      { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'url', url: 'https://x.test/a' } }] }] },
      'messages.0.content.0.image.source: URL sources are not supported',
    ],
    [
      'thoughts of others',
      { messages: [{ role: 'user', content: [{ type: 'thinking', thinking: 'a', signature: 'sluice-unsigned' }] }] },
      'messages.0.content.0: Invalid `signature` in `thinking` block',
    ],
  ])('refuses %s', async (_what, members, message) => {
    const response = await bedrock('invoke', { ...body, ...members })
    expect([response.status, await response.json()]).toEqual([400, { message }])
  })

  it('takes a field with its flag', async () => {
    const more = { anthropic_beta: ['context-management-2025-06-27'], context_management: { edits: [] } }
    expect((await bedrock('invoke', { ...body, ...more })).status).toBe(200)
  })

  it('refuses what belongs into the path', async () => {
    const response = await bedrock('invoke', { ...body, stream: true })
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({ message: 'stream: Extra inputs are not permitted' })
  })
})

describe('messages through Vertex AI', () => {
  const body = { anthropic_version: 'vertex-2023-10-16', max_tokens: 50, messages: [{ role: 'user', content: 'hi' }] }
  const AUTHORIZED = { authorization: 'Bearer token' }
  const vertex = (stream: boolean, more: object = {}, headers: Record<string, string> = AUTHORIZED) => {
    const path = vertexMessagesPath('claude-sonnet-4-5@20250929', stream, { project: 'p', location: 'us-east5' })
    return post(simulator.origin + path, { ...body, ...(stream ? { stream } : null), ...more }, headers)
  }

  it('has the bodies and events of the dialect as they are', async () => {
    expect(await (await vertex(false)).json()).toMatchObject({
      model: 'claude-sonnet-4-5@20250929',
      content: [{ text: 'You said: hi' }],
    })
    const response = await vertex(true)
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect((await response.text()).trimEnd()).toMatch(/data: \{"type":"message_stop"\}$/)
  })

  it.each([
    ['a model in the body', { model: 'm' }, {}, 'model: Extra inputs are not permitted'],
    ['a stream that the method does not give', { stream: true }, {}, 'stream: does not fit the method'],
    ['flags in the body', { anthropic_beta: [] }, {}, 'anthropic_beta: Extra inputs are not permitted'],
    ['a flag that it does not know', {}, { 'anthropic-beta': 'files-api-2025-04-14' }, 'invalid beta flag'],
    [
      'another version',
      { anthropic_version: '2023-06-01' },
      {},
      "anthropic_version: Input should be 'vertex-2023-10-16'",
    ],
  ])('refuses %s in the words of the model', async (_what, members, headers, message) => {
    const response = await vertex(false, members, { ...AUTHORIZED, ...headers })
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { type: 'error', error: { type: 'invalid_request_error', message } },
    ])
  })

  it('lets nobody in without a token, in the words of the cloud', async () => {
    const response = await vertex(false, {}, {})
    expect([response.status, await response.json()]).toMatchObject([
      401,
      { error: { code: 401, status: 'UNAUTHENTICATED' } },
    ])
  })
})

describe('Cohere', () => {
  const tools = [{ type: 'function', function: { name: 'get_weather', parameters: SCHEMA } }]
  const chat = (content: string, more: object = {}): Promise<Response> =>
    post(`${simulator.origin}/v2/chat`, { model: 'command-a-03-2025', messages: [{ role: 'user', content }], ...more })

  it('says in a stream what it says at once', async () => {
    for (const [content, more] of [
      ['Hello', {}],
      ['Rome', { tools, tool_choice: 'REQUIRED' }],
    ] as const) {
      const whole = parseCohere(await (await chat(content, more)).json()) as Answer
      const response = await chat(content, { ...more, stream: true })
      const { blocks, end } = await decoded(response, new CohereDecoder(), 'sse')
      const strip = (seen: unknown[]): unknown => JSON.parse(JSON.stringify(seen).replaceAll(/get_weather_\w+/g, 'id'))
      expect(strip(comparableBlocks(blocks))).toEqual(strip(comparableBlocks(whole.content)))
      expect(end?.stop).toEqual(whole.stop)
      expect(end?.usage).toEqual(whole.usage)
    }
  })

  it('has errors without a type', async () => {
    simulator.setDefaults({ status: 429 })
    const response = await chat('hi')
    expect(response.status).toBe(429)
    expect(Object.keys((await response.json()) as object)).toEqual(['id', 'message'])
  })
})

describe('Azure', () => {
  const api = { kind: 'deployments', apiVersion: '2024-10-21' } as const
  const url = (path: string): string => simulator.origin + path
  const body = { messages: [{ role: 'user', content: 'hi' }] }

  it('begins its streams with what the filter says of the prompt', async () => {
    const response = await post(
      url(azurePath(api, 'our-gpt', '/chat/completions')),
      { ...body, stream: true },
      { 'api-key': 'secret' },
    )
    const [first, second] = eventsOf(await response.text())
      .slice(0, 2)
      .map((event): Json => JSON.parse(event.data))
    expect(first).toMatchObject({ choices: [], id: '', model: '', prompt_filter_results: [{ prompt_index: 0 }] })
    expect(second).toMatchObject({ model: 'our-gpt' })
    expect(simulator.stats().keys).toHaveProperty('secret')
  })

  it('takes the model from the body under its newer paths', async () => {
    const response = await post(url('/openai/v1/chat/completions'), {
      ...body,
      model: 'our-gpt',
    })
    expect(await response.json()).toMatchObject({ model: 'our-gpt', prompt_filter_results: [{}] })
  })

  it('finds nothing without a version', async () => {
    const response = await post(url('/openai/deployments/our-gpt/chat/completions'), body)
    expect(response.status).toBe(404)
    expect(await response.json()).toEqual({ error: { code: '404', message: 'Resource not found' } })
  })
})
