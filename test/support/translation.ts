import type { Answer } from '../../src/shared/core/answer.ts'
import { isFailure } from '../../src/shared/core/codec.ts'
import type { EncoderOptions, Restoration, Target } from '../../src/shared/core/codec.ts'
import type { WireDialect } from '../../src/shared/core/conversation.ts'
import type { UpstreamFailure } from '../../src/shared/core/dialect.ts'
import type { StreamEvent } from '../../src/shared/core/stream-event.ts'
import { clientCodec, upstreamCodec } from '../../src/dialects/codecs.ts'
import { AnswerCollector } from '../../src/dialects/common/collect-answer.ts'
import { SseSplitter } from '../../src/shared/wire/sse.ts'
import type { Json } from './plain-json.ts'
import { readChatStream, readMessagesStream } from './stream-grammar.ts'
import type { ClientView } from './stream-grammar.ts'

export const OPTIONS: EncoderOptions = {
  id: 'abc123',
  model: null,
  created: 1_750_000_000,
  estimatedPromptTokens: 11,
  reasoningDetails: true,
  wantsUsage: true,
}

/** Decodes an upstream's stream into neutral stream events. */
export function decodeStream(dialect: WireDialect, chunks: readonly Buffer[]): StreamEvent[] {
  const decoder = upstreamCodec(dialect).createDecoder()
  const splitter = new SseSplitter()
  const events: StreamEvent[] = []
  const onEvent = (bytes: Buffer, start: number, end: number): void => decoder.decode(bytes, start, end, events)
  for (const chunk of chunks) splitter.split(chunk, onEvent)
  splitter.finish(onEvent)
  decoder.finish(events)
  return events
}

/** Encodes neutral stream events for a client of `dialect`. */
export function encodeStream(
  dialect: WireDialect,
  events: readonly StreamEvent[],
  options: Partial<EncoderOptions> = {},
): string {
  const encoder = clientCodec(dialect).createEncoder({ ...OPTIONS, ...options })
  return events.map((event) => encoder.encode(event)).join('')
}

export function collect(events: readonly StreamEvent[]): Answer | UpstreamFailure {
  const collector = new AnswerCollector()
  for (const event of events) collector.take(event)
  const result = collector.failure ?? collector.answer
  if (result === null) throw new Error('The stream has neither an end nor an error.')
  return result
}

/** Returns the answer; throws when it is a failure. */
export function answerOf(read: Answer | UpstreamFailure): Answer {
  if (isFailure(read)) throw new Error(`No answer: ${JSON.stringify(read)}`)
  return read
}

export function readBody(dialect: WireDialect, body: unknown): Answer {
  return answerOf(upstreamCodec(dialect).parseAnswer(body))
}

/** Translates a request body from one dialect to that of the upstream. */
export function translateRequest(
  from: WireDialect,
  to: WireDialect,
  request: Json,
  target: Partial<Target> = {},
): { body: Json; dropped: readonly string[]; restoration: Restoration | null } {
  const codec = upstreamCodec(to)
  const conversation = clientCodec(from).parseRequest(request)
  return codec.buildRequest(conversation, { ...codec.defaultTarget, model: 'upstream', ...target })
}

export function chatToMessages(request: Json, target: Partial<Target> = {}): Json {
  const { body } = translateRequest('openai-chat', 'anthropic-messages', request, target)
  return JSON.parse(JSON.stringify(body))
}

export function messagesToChat(request: Json, target: Partial<Target> = {}): Json {
  const { body } = translateRequest('anthropic-messages', 'openai-chat', request, target)
  return JSON.parse(JSON.stringify(body))
}

/** A chat upstream's stream: the deltas of one choice, then the chunks of `rest`. */
export function chatStream(deltas: readonly Json[], ...rest: readonly Json[]): Buffer {
  const chunks = deltas.map((delta) => ({ id: 'chatcmpl-1', created: 1, model: 'm', choices: [{ index: 0, delta }] }))
  const payloads = [...chunks, ...rest].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
  return Buffer.from(payloads.join(''))
}

export function finishChunk(reason: string, usage: Json = null): Json {
  return { choices: [{ index: 0, delta: {}, finish_reason: reason }], usage }
}

export function messagesStream(...events: readonly Json[]): Buffer {
  return Buffer.from(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''))
}

/** The events of a message with `blocks`; each block is its start and its deltas. */
export function messageOf(blocks: readonly Json[][], stopReason: string, usage: Json = {}): Buffer {
  const events: Json[] = []
  blocks.forEach(([start, ...deltas], index) => {
    events.push({ type: 'content_block_start', index, content_block: start })
    for (const delta of deltas) events.push({ type: 'content_block_delta', index, delta })
    events.push({ type: 'content_block_stop', index })
  })
  return messagesStream(
    {
      type: 'message_start',
      message: { id: 'msg_1', model: 'm', content: [], usage: { input_tokens: 5, output_tokens: 1 } },
    },
    ...events,
    { type: 'message_delta', delta: { stop_reason: stopReason }, usage: { output_tokens: 7, ...usage } },
    { type: 'message_stop' },
  )
}

/** A messages client's view of a chat upstream's stream. */
export function seenByMessagesClient(stream: Buffer, options: Partial<EncoderOptions> = {}): ClientView {
  return readMessagesStream(encodeStream('anthropic-messages', decodeStream('openai-chat', [stream]), options))
}

export function seenByChatClient(stream: Buffer, options: Partial<EncoderOptions> = {}): ClientView {
  return readChatStream(encodeStream('openai-chat', decodeStream('anthropic-messages', [stream]), options))
}
