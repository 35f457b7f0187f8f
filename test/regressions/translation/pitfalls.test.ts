import { expect, it } from 'vitest'
import { ENDPOINTS } from '../../../src/shared/endpoints/index.ts'
import type { UpstreamDialectName } from '../../../src/shared/core/endpoint.ts'
import { GatewayError } from '../../../src/shared/core/errors.ts'
import type { StreamEvent } from '../../../src/shared/core/stream-event.ts'
import { clientCodec, dialectOf, upstreamCodec } from '../../../src/dialects/codecs.ts'
import { errorHeaders } from '../../../src/front/gateway/answer-headers.ts'
import { buildUpstreamRequest } from '../../../src/front/gateway/upstream-request.ts'
import { createValidator } from '../../../src/front/validation/validate.ts'
import type { Json } from '../../support/plain-json.ts'
import { readChatStream, readMessagesStream } from '../../support/stream-grammar.ts'
import {
  OPTIONS,
  chatStream,
  chatToMessages,
  collect,
  decodeStream,
  encodeStream,
  finishChunk,
  messagesStream,
  seenByChatClient,
  seenByMessagesClient,
} from '../../support/translation.ts'
import { callCredential } from '../../../src/front/upstream/credentials.ts'
import { makeContext } from '../../unit/gateway/context.ts'
import { byteByByte, eventsOf, fieldsOf } from '../../unit/wire/sse-oracle.ts'

// The pitfalls of the notes on translation that no published bug stands for.

const DONE = Buffer.from('data: [DONE]\n\n')

function usageChunk(prompt: number, completion: number): Json {
  return { choices: [], usage: { prompt_tokens: prompt, completion_tokens: completion } }
}

function whole(deltas: readonly Json[], ...rest: readonly Json[]): Buffer {
  return Buffer.concat([chatStream(deltas, ...rest), DONE])
}

/** What a messages client is sent for each piece of a chat upstream's stream, and for the end of its body. */
function pieceByPiece(pieces: readonly Buffer[]): string[] {
  const decoder = upstreamCodec('openai-chat').createDecoder()
  const encoder = clientCodec('anthropic-messages').createEncoder(OPTIONS)
  const decoded: StreamEvent[] = []
  const sent = (): string =>
    decoded
      .splice(0)
      .map((event) => encoder.encode(event))
      .join('')
  const texts = pieces.map((piece) => {
    decoder.decode(piece, 0, piece.length, decoded)
    return sent()
  })
  decoder.finish(decoded)
  return [...texts, sent()]
}

it('pitfall 2: the end of a message waits for usage, of which the last wins, or for the end of the stream', () => {
  const head = [chatStream([{ content: 'x' }]), chatStream([], finishChunk('stop'))]
  const counted = [usageChunk(10, 1), usageChunk(20, 2), usageChunk(20, 2)].map((chunk) => chatStream([], chunk))
  const [, atFinish, ...behind] = pieceByPiece([...head, ...counted, DONE])
  expect([atFinish, ...behind.slice(0, 3)].join('')).toBe('')
  expect(behind[3]).toContain('event: message_stop')
  expect(behind[3]).toContain('"output_tokens":2')
  expect(behind[4]).toBe('')

  const uncounted = pieceByPiece(head)
  expect(uncounted.slice(0, 2).join('')).not.toContain('message_delta')
  expect(readMessagesStream(uncounted.join('')).usage).toMatchObject({ input_tokens: OPTIONS.estimatedPromptTokens })
})

it('pitfall 3: counters of a message overwrite those before, and stay where they are not repeated', () => {
  const delta = (usage: Json, reason: string | null = null): Json => ({
    type: 'message_delta',
    delta: { stop_reason: reason },
    usage,
  })
  const { usage } = seenByChatClient(
    messagesStream(
      { type: 'message_start', message: { usage: { input_tokens: 5, cache_read_input_tokens: 3, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'x' } },
      { type: 'content_block_stop', index: 0 },
      delta({ input_tokens: 5, output_tokens: 4 }),
      delta({ output_tokens: 9 }, 'end_turn'),
      { type: 'message_stop' },
    ),
  )
  expect(usage).toMatchObject({
    prompt_tokens: 8,
    completion_tokens: 9,
    total_tokens: 17,
    prompt_tokens_details: { cached_tokens: 3 },
  })
})

it('pitfall 5: a message begins with the estimate of its prompt, also where the upstream has counted 0 so far', () => {
  const unknown = whole([{ content: 'x' }], finishChunk('stop'), usageChunk(30, 4))
  const zero = Buffer.concat([chatStream([], usageChunk(0, 0)), unknown])
  for (const stream of [unknown, zero]) {
    const text = encodeStream('anthropic-messages', decodeStream('openai-chat', [stream]))
    const start = JSON.parse(fieldsOf(eventsOf(Buffer.from(text))[0] ?? '').data ?? '')
    expect(start.message.usage.input_tokens).toBe(OPTIONS.estimatedPromptTokens)
    expect(readMessagesStream(text).usage.input_tokens).toBe(30)
  }
})

it('pitfall 6: each event is named by its line, and one block is closed before the next begins', () => {
  const part = (index: number, args: string, head: Json = {}): Json => {
    const { name, ...rest } = head
    return { index, ...rest, function: { name, arguments: args } }
  }
  const stream = whole(
    [
      { reasoning_content: 'hm' },
      { content: 'Both.' },
      { tool_calls: [part(0, '{"a"', { id: 'a', name: 'f' }), part(1, '{"b"', { id: 'b', name: 'g' })] },
      { tool_calls: [part(1, ':2}'), part(0, ':1}')] },
    ],
    finishChunk('tool_calls'),
  )
  const text = encodeStream('anthropic-messages', decodeStream('openai-chat', [stream]))
  const blocks: string[] = []
  for (const event of eventsOf(Buffer.from(text))) {
    const [line] = event.split('\n')
    const { data } = fieldsOf(event)
    const { type, index } = JSON.parse(data ?? '')
    expect(line).toBe(`event: ${type}`)
    if (/_(?:start|stop)$/.test(type as string) && index !== undefined) blocks.push(`${type} ${index}`)
  }
  expect(blocks).toEqual([0, 1, 2, 3].flatMap((i) => [`content_block_start ${i}`, `content_block_stop ${i}`]))
  expect(readMessagesStream(text).calls.map(({ input }) => input)).toEqual(['{"a":1}', '{"b":2}'])
})

it('pitfall 7: calls are found by index 0, without an index or a type, and where indexes begin at 1', () => {
  const fragments = (first: number): Json[] => [
    { index: first, id: 'a', type: 'function', function: { name: 'f', arguments: '' } },
    { index: first + 1, id: 'b', type: 'function', function: { name: 'f', arguments: '{"n":' } },
    { index: first, function: { arguments: '{"n":' } },
    { index: first + 1, function: { arguments: '2}' } },
    { index: first, function: { arguments: '1}' } },
  ]
  const bare = ['a', 'b'].map((id, i) => ({ id, function: { name: 'f', arguments: `{"n":${i + 1}}` } }))
  for (const parts of [fragments(0), fragments(1), bare]) {
    const stream = whole(
      parts.map((part) => ({ tool_calls: [part] })),
      finishChunk('tool_calls'),
    )
    const calls = [
      { id: 'a', name: 'f', input: '{"n":1}' },
      { id: 'b', name: 'f', input: '{"n":2}' },
    ]
    expect(seenByMessagesClient(stream).calls).toEqual(calls)
    // Throws unless the client's indexes rise from 0, and every call has a type.
    expect(readChatStream(encodeStream('openai-chat', decodeStream('openai-chat', [stream]))).calls).toEqual(calls)
  }
})

const BETAS = 'context-1m-2025-08-07, claude-code-20250219'

function betasSentTo(dialect: UpstreamDialectName, client: 'chat' | 'messages'): string | undefined {
  const key = { id: 'k', name: 'k', credential: 'c', enabled: true, weight: 1, maxConcurrency: 1 }
  const provider = {
    id: 'p',
    name: 'p',
    dialect,
    baseUrl: 'https://api.test.example/v1',
    auth: 'bearer',
    headers: {},
    keys: [key],
    timeouts: { connectMs: 1, firstByteMs: 1, idleMs: 1, totalMs: 1 },
    billsAfterDisconnect: false,
  } as const
  const { headers } = buildUpstreamRequest({
    deployment: { provider, key, upstreamModel: 'm', weight: 1 },
    credential: callCredential('bearer', key.credential),
    endpoint: ENDPOINTS[client],
    vendor: 'anthropic',
    request: {
      method: 'POST',
      path: '/',
      query: '',
      headers: { 'anthropic-beta': BETAS },
      address: '127.0.0.1',
      hasTags: false,
      params: [],
    },
    body: Buffer.from('{}'),
    stream: false,
    trace: null,
    nowMs: 0,
  })
  const at = headers.indexOf('anthropic-beta')
  return at === -1 ? undefined : headers[at + 1]
}

it('pitfall 17: beta flags go to the first party whole, to clouds by a list, and to no other dialect', () => {
  expect(betasSentTo('anthropic-messages', 'messages')).toBe(BETAS)
  expect(betasSentTo('anthropic-messages', 'chat')).toBeUndefined()
  for (const dialect of ['openai-chat', 'gemini', 'bedrock-converse', 'bedrock-invoke'] as const) {
    expect(betasSentTo(dialect, 'messages'), dialect).toBeUndefined()
  }
  expect(betasSentTo('anthropic-vertex', 'messages')).toBe('context-1m-2025-08-07')
  expect(betasSentTo('anthropic-vertex', 'chat')).toBeUndefined()

  const messages = [
    { role: 'user', content: 'go' },
    { role: 'system', content: 'Be brief.' },
  ]
  const roles = (request: Json): string[] => request.messages.map(({ role }: Json) => role)
  expect(roles(chatToMessages({ messages }))).toEqual(['user'])
  expect(roles(chatToMessages({ messages }, { takesSystemAnywhere: true }))).toEqual(['user', 'system'])
})

it('pitfall 20: what the official clients rely on: base64 vectors, an exact end, whole characters, no vain retry', () => {
  const validator = createValidator({ maxDepth: 64, maxElements: 1000 })
  const asked = validator.validate('embeddings', Buffer.from('{"model":"m","input":"x","encoding_format":"base64"}'))
  const answer = { object: 'list', model: 'm', data: [{ object: 'embedding', index: 0, embedding: [1, -0.5] }] }
  const { body } = dialectOf('openai-embeddings').readAnswer(Buffer.from(JSON.stringify(answer)), asked)
  expect(JSON.parse(String(body)).data[0].embedding).toBe(Buffer.from('0000803f000000bf', 'hex').toString('base64'))

  const said = '[DONE] né 漢字 😀'
  const chunks = byteByByte(whole([{ content: said }], finishChunk('stop')))
  const text = encodeStream('openai-chat', decodeStream('openai-chat', chunks))
  expect(readChatStream(text).text).toBe(said)
  expect(text.endsWith('}\n\ndata: [DONE]\n\n')).toBe(true)
  for (const almost of ['[done]', '[DONE].', '"[DONE]"']) {
    const stream = Buffer.concat([chatStream([{ content: 'x' }]), Buffer.from(`data: ${almost}\n\n`)])
    expect(collect(decodeStream('openai-chat', [stream])), almost).toMatchObject({ type: 'invalid_event' })
  }

  const retried = (code: 'BUDGET_EXHAUSTED' | 'RPM_EXCEEDED'): unknown =>
    new Map(errorHeaders(makeContext().ctx, new GatewayError(code), 0)).get('x-should-retry')
  expect([retried('BUDGET_EXHAUSTED'), retried('RPM_EXCEEDED')]).toEqual(['false', undefined])
})
