import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { geminiPath } from '../../../src/dialects/gemini/address.ts'
import { geminiCodec } from '../../../src/dialects/gemini/codec.ts'
import { failureOf } from '../../../src/dialects/common/failure.ts'
import { geminiFailure } from '../../../src/dialects/gemini/errors.ts'
import { parseRequest as parseMessages } from '../../../src/dialects/anthropic-messages/parse-request.ts'
import { clientCodec } from '../../../src/dialects/codecs.ts'
import { startSimulator, type Simulator } from '../../../src/simulator/simulator.ts'
import { OPTIONS, answerOf, collect, decodeStream } from '../../support/translation.ts'
import { post, type Json } from './requests.ts'

let simulator: Simulator

beforeAll(async () => {
  simulator = await startSimulator({})
})
beforeEach(() => {
  simulator.reset()
})
afterAll(() => simulator.close())

const MODEL = 'gemini-3-flash'
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const TOOL = {
  name: 'get_weather',
  parameters: { type: 'OBJECT', properties: { city: { type: 'STRING', enum: ['Ulm'] } }, required: ['city'] },
}

type Operation = Parameters<typeof geminiPath>[1]

function gemini(operation: Operation, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return post(simulator.origin + geminiPath(MODEL, operation, null), body, { 'x-goog-api-key': 'key-g', ...headers })
}

function prompt(text: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return { contents: [{ role: 'user', parts: [{ text }] }], ...more }
}

async function events(response: Response): Promise<ReturnType<typeof decodeStream>> {
  return decodeStream('gemini', [Buffer.from(await response.arrayBuffer())])
}

describe('the simulated Gemini', () => {
  it('answers with the shape of the service', async () => {
    const response = await gemini(
      'generateContent',
      prompt('Hello there', { systemInstruction: { parts: [{ text: 'Hm.' }] } }),
    )
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({
      candidates: [
        { content: { role: 'model', parts: [{ text: 'You said: Hello there' }] }, finishReason: 'STOP', index: 0 },
      ],
      usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 5, totalTokenCount: 9 },
      modelVersion: MODEL,
      createTime: expect.stringMatching(/^\d{4}-/),
      responseId: expect.any(String),
    })
  })

  it.each([
    ['text', prompt('Größe 了解 👍🏽')],
    ['a call', prompt('use get_weather', { tools: [{ functionDeclarations: [TOOL] }] })],
    ['what the limit leaves', prompt('Hello there', { generationConfig: { maxOutputTokens: 2 } })],
  ])('says in a stream what it says at once: %s', async (_name, body) => {
    const whole = answerOf(geminiCodec.parseAnswer(await (await gemini('generateContent', body)).json()))
    const response = await gemini('streamGenerateContent', body)
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    const streamed = answerOf(collect(await events(response)))
    const plain = (value: object): unknown =>
      JSON.parse(JSON.stringify(value, (key, one: unknown) => (/^(?:id|signature)$/.test(key) ? null : one)))
    expect(plain(streamed.content)).toEqual(plain(whole.content))
    expect(streamed.stop).toEqual(whole.stop)
    expect(streamed.usage).toEqual(whole.usage)
  })

  it('plays a tool loop with a picture, and refuses one whose signature was lost', async () => {
    const client = clientCodec('anthropic-messages')
    const user = [
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
      { type: 'text', text: 'use get_weather' },
    ]
    const tools = [{ name: 'get_weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } }]
    const messages: Json[] = [{ role: 'user', content: user }]
    const build = (): Json =>
      geminiCodec.buildRequest(parseMessages({ max_tokens: 99, tools, messages }), geminiCodec.defaultTarget).body
    const first = answerOf(collect(await events(await gemini('streamGenerateContent', build()))))
    const { content } = client.buildAnswer(first, OPTIONS).body as { content: Json[] }
    const call = content.find(({ type }) => type === 'tool_use')
    expect(call).toMatchObject({ name: 'get_weather', input: { city: expect.any(String) as string } })
    messages.push(
      { role: 'assistant', content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: 'sunny' }] },
    )
    const body = build()
    const second = answerOf(geminiCodec.parseAnswer(await (await gemini('generateContent', body)).json()))
    expect(second.content).toMatchObject([{ type: 'text', text: 'The tool said: sunny' }])
    expect(body.contents[1].parts[0].thoughtSignature).toBe(
      first.content.find((block) => block.type === 'tool-call')?.signature,
    )

    delete body.contents[1].parts[0].thoughtSignature
    const refused = await gemini('generateContent', body)
    expect(refused.status).toBe(400)
    expect(geminiFailure(await refused.json()).message).toContain('missing a thought_signature')
  })

  it.each([
    [{ contents: [] }, 'contents is not specified'],
    [{ contents: [{ role: 'assistant', parts: [{ text: 'a' }] }] }, 'valid role'],
    [{ contents: [{ role: 'user', parts: [] }] }, 'must not be empty'],
    [{ contents: [{ role: 'user', parts: [{}] }] }, "oneof field 'data'"],
    [
      { contents: [{ role: 'model', parts: [{ functionCall: { name: 'f' }, thoughtSignature: 's' }] }] },
      'function response',
    ],
    [prompt('a', { tools: [{ functionDeclarations: [{ name: 'f', parameters: { $schema: 'x' } }] }] }), 'Unknown name'],
    [prompt('a', { tools: [{ functionDeclarations: [{ name: '1f' }] }] }), 'function name'],
  ])('refuses what the service refuses: %j', async (body, words) => {
    const response = await gemini('generateContent', body)
    expect(response.status).toBe(400)
    const failure = geminiFailure(await response.json())
    expect(failure.type).toBe('INVALID_ARGUMENT')
    expect(failure.message).toContain(words)
  })

  it('fails as the service fails', async () => {
    const limited = await gemini('generateContent', prompt('[[sim {"status":429,"retryAfter":34}]]'))
    const body: unknown = await limited.json()
    expect(limited.status).toBe(429)
    expect(geminiFailure(body).type).toBe('RESOURCE_EXHAUSTED')
    expect(failureOf(body).retryAfterSeconds).toBe(34)
    simulator.configureKey('key-g', { fault: 'error-event-mid', after: 2 })
    expect((await events(await gemini('streamGenerateContent', prompt('a b c d')))).at(-1)).toMatchObject({
      type: 'error',
      failure: { type: 'UNAVAILABLE' },
    })
    simulator.configureKey('key-g', { fault: 'no-terminal' })
    expect((await events(await gemini('streamGenerateContent', prompt('a')))).at(-1)).toMatchObject({
      type: 'error',
      failure: { type: 'truncated' },
    })
    simulator.configureKey('key-g', { requireKey: ['other'] })
    const unknown = await gemini('generateContent', prompt('a'))
    expect([unknown.status, geminiFailure(await unknown.json()).type]).toEqual([401, 'UNAUTHENTICATED'])
  })

  it('counts tokens, and knows the key in either header', async () => {
    const counted = await gemini('countTokens', { generateContentRequest: prompt('Hello there') })
    expect(await counted.json()).toEqual({ totalTokens: 2 })
    await post(
      simulator.origin + geminiPath(MODEL, 'generateContent', { project: 'p', location: 'l' }),
      prompt('Hello'),
      { authorization: 'Bearer token-g' },
    )
    expect(Object.keys(simulator.stats().keys)).toEqual(['key-g', 'token-g'])
  })
})
