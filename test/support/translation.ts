import type { Answer } from '../../src/core/answer.ts'
import { isFailure } from '../../src/core/codec.ts'
import type { EncoderOptions } from '../../src/core/codec.ts'
import type { WireDialect } from '../../src/core/conversation.ts'
import type { UpstreamFailure } from '../../src/core/dialect.ts'
import type { StreamEvent } from '../../src/core/stream-event.ts'
import { clientCodec, upstreamCodec } from '../../src/dialects/codecs.ts'
import { AnswerCollector } from '../../src/dialects/collect-answer.ts'
import { SseSplitter } from '../../src/wire/sse.ts'

export const OPTIONS: EncoderOptions = {
  id: 'abc123',
  model: null,
  created: 1_750_000_000,
  estimatedPromptTokens: 11,
  reasoningDetails: true,
  wantsUsage: true,
}

/** The events of the form that an upstream's stream means. */
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

/** What a client of `dialect` is sent for events of the form. */
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

/** The answer; throws when it is a failure. */
export function answerOf(read: Answer | UpstreamFailure): Answer {
  if (isFailure(read)) throw new Error(`No answer: ${JSON.stringify(read)}`)
  return read
}

export function readBody(dialect: WireDialect, body: unknown): Answer {
  return answerOf(upstreamCodec(dialect).parseAnswer(body))
}
