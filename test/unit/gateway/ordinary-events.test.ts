import { describe, expect, it } from 'vitest'
import type { DialectName } from '../../../src/shared/core/endpoint.ts'
import type { RequestContext } from '../../../src/shared/core/request-context.ts'
import type { Usage } from '../../../src/shared/core/usage.ts'
import { SseSplitter } from '../../../src/shared/wire/sse.ts'
import { dialectOf } from '../../../src/dialects/codecs.ts'
import { StreamTranslation } from '../../../src/dialects/translate.ts'
import type { AnswerTranslation } from '../../../src/dialects/translate.ts'
import type { Answer, AttemptControl } from '../../../src/front/gateway/answer-receiver.ts'
import { settleUsage } from '../../../src/front/gateway/settle-usage.ts'
import { StreamRelay } from '../../../src/front/gateway/stream-relay.ts'
import { TranslatedStream } from '../../../src/front/gateway/translated-stream.ts'
import fc from '../../support/fast-check.ts'
import { OPTIONS } from '../../support/translation.ts'
import { BODY, makeContext } from './context.ts'

/*
 * Ordinary events pass without being split, inspected and parsed. The oracle splits, inspects and parses each: what the client gets, what is
 * counted, and how the stream ends must not differ.
 */

const TEXT = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(' word', 'a', ' the quick brown fox', '.', '', 'long '.repeat(60)) },
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.constantFrom('né 😀', '"quoted"', '\\', 'a\nb', '}}]}', '\u007f', '"content":"x', 'data: [DONE]'),
)

const PADDED_TEXT = TEXT.map((content) => chat({ content }, { obfuscation: 'x'.repeat(content.length) }))
const CHAT_PIECE = fc.oneof(
  { weight: 12, arbitrary: TEXT.map((content) => chat({ content })) },
  PADDED_TEXT,
  TEXT.map((content) => chat({ content }, {}, 1)),
  TEXT.map((content) => chat({ content, refusal: null })),
  TEXT.map((reasoning) => chat({ reasoning_content: reasoning })),
  TEXT.map((input) => chat({ tool_calls: [{ index: 0, function: { arguments: input } }] })),
  fc.constantFrom(
    ': processing\n\n',
    '\n',
    chat({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '' } }] }),
    `data: ${JSON.stringify({ id: 'c', choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } })}\n\n`,
    `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\n`,
  ),
)

const MESSAGES_PIECE = fc.oneof(
  { weight: 12, arbitrary: TEXT.map((text) => delta({ type: 'text_delta', text })) },
  TEXT.map((text) => delta({ type: 'text_delta', text }, 1)),
  TEXT.map((thinking) => delta({ type: 'thinking_delta', thinking })),
  TEXT.map((input) => delta({ type: 'input_json_delta', partial_json: input })),
  fc.constantFrom(
    message({ type: 'ping' }),
    message({ type: 'content_block_stop', index: 0 }),
    message({ type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } }),
    message({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } }),
  ),
)

const CHAT_END = 'data: [DONE]\n\n'
const CHAT_START = chat({ role: 'assistant', content: '' })
const MESSAGES_END = message({ type: 'message_stop' })
const MESSAGES_START =
  message({
    type: 'message_start',
    message: { id: 'msg_1', model: 'm', usage: { input_tokens: 9, output_tokens: 1 } },
  }) + message({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } })

const STREAMS: Readonly<Record<'openai-chat' | 'anthropic-messages', fc.Arbitrary<string>>> = {
  'openai-chat': fc.oneof(
    streamOf(CHAT_START, CHAT_PIECE, CHAT_END),
    streamOf(CHAT_START, fc.oneof({ weight: 6, arbitrary: PADDED_TEXT }, CHAT_PIECE), CHAT_END),
  ),
  'anthropic-messages': streamOf(MESSAGES_START, MESSAGES_PIECE, MESSAGES_END),
}
/** Lengths of reads: so many whole events, or so many bytes. */
const CUTS = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.record({ events: fc.integer({ min: 1, max: 4 }) }) },
    fc.record({ bytes: fc.integer({ min: 1, max: 400 }) }),
  ),
  { minLength: 1, maxLength: 20 },
)
/** Bytes that others take the place of; half of the streams have none. */
const CHANGED_BYTE = fc.oneof(
  fc.integer({ min: 0, max: 255 }),
  fc.constantFrom(0x00, 0x09, 0x0a, 0x0d, 0x22, 0x5c, 0x7d),
)
const CHANGES = fc.oneof(fc.constant([]), fc.array(fc.tuple(fc.nat(), CHANGED_BYTE), { maxLength: 3 }))
const DIALECTS = ['openai-chat', 'anthropic-messages'] as const

describe.each(DIALECTS)('the ordinary events of a stream of %s', (dialect) => {
  it.each([false, true])('are relayed as if each were inspected (usage asked for: %s)', (wantsUsage) => {
    fc.assert(
      fc.property(STREAMS[dialect], CUTS, CHANGES, (stream, cuts, changes) => {
        const bytes = changed(stream, changes)
        const played = play(dialect, null, wantsUsage, bytes, cuts)
        expect(played).toEqual(inspected(dialect, wantsUsage, bytes))
      }),
      { numRuns: 600 },
    )
  })

  it.each(['openai-chat', 'anthropic-messages', 'openai-responses'] as const)(
    'are translated for %s as if each were parsed',
    (client) => {
      const translation: AnswerTranslation = { client, upstream: dialect, restoration: null, options: OPTIONS }
      fc.assert(
        fc.property(STREAMS[dialect], CUTS, CHANGES, (stream, cuts, changes) => {
          const bytes = changed(stream, changes)
          const played = play(client, translation, true, bytes, cuts)
          expect(played).toEqual(parsed(translation, bytes))
        }),
        { numRuns: 300 },
      )
    },
  )
})

type Cut = { readonly events: number } | { readonly bytes: number }

interface Played {
  readonly sent: string
  readonly end: 'served' | 'lost' | null
  readonly tokens: RequestContext['tokens']
}

/** Plays the bytes in reads of these lengths, in turn. Each read is overwritten as soon as it has been taken. */
function play(
  dialect: DialectName,
  translation: AnswerTranslation | null,
  wantsUsage: boolean,
  bytes: Buffer,
  cuts: readonly Cut[],
): Played {
  const { ctx, exchange } = makeContext()
  const heard: { end: Played['end'] } = { end: null }
  const control: AttemptControl = {
    progressed: () => undefined,
    pause: () => undefined,
    served: () => {
      heard.end = 'served'
    },
    failed: () => {
      heard.end = 'lost'
    },
    broken: () => {
      heard.end = 'lost'
    },
  }
  const answer: Answer = {
    ctx,
    body: { ...BODY, wantsUsage },
    dialect: dialectOf(dialect),
    translation,
    reading: null,
    status: 200,
    headers: {},
    clock: { now: () => 1_000, monotonicUs: () => 6_000 },
    redact: (text) => text,
  }
  const relay =
    translation === null ? new StreamRelay(answer, control) : new TranslatedStream(answer, translation, control)
  const read = Buffer.alloc(8_192)
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const length = lengthOf(cuts[turn % cuts.length] ?? { bytes: 1 }, bytes, at)
    bytes.copy(read, 100, at, at + length)
    relay.take(read, 100, 100 + length)
    read.fill('!')
    at += length
  }
  relay.settle(false)
  // The end of a translated stream is held back together with the texts of its read.
  if (translation !== null && heard.end === 'served') ctx.finish?.()
  return { sent: exchange.response.body.toString('latin1'), end: heard.end, tokens: ctx.tokens }
}

function lengthOf(cut: Cut, bytes: Buffer, from: number): number {
  if ('bytes' in cut) return Math.min(cut.bytes, bytes.length - from)
  const blankLines = /\n\n|\r\n\r\n|\r\r/g
  const rest = bytes.toString('latin1', from)
  for (let event = 0; event < cut.events; event++) if (blankLines.exec(rest) === null) return rest.length
  return blankLines.lastIndex
}

/** The work of a relay on the bytes, event by event. */
function inspected(dialect: 'openai-chat' | 'anthropic-messages', wantsUsage: boolean, bytes: Buffer): Played {
  const inspector = dialectOf(dialect).inspectStream(wantsUsage)
  let [sent, held] = ['', '']
  let end: Played['end'] = null
  new SseSplitter().split(bytes, (chunk, start, stop) => {
    const verdict = inspector.inspect(chunk, start, stop)
    if (verdict === 'terminal') end = 'served'
    if (verdict === 'error') end = 'lost'
    const event = chunk.toString('latin1', start, stop)
    if (verdict === 'forward' && sent === '' && event.startsWith(':')) held += event
    else if (verdict === 'forward') {
      sent += held + event
      held = ''
    }
    return end === null
  })
  return { sent, end, tokens: booked(inspector, inspector.observedTextBytes) }
}

/** The work of a translating relay on the bytes, event by event. */
function parsed(translation: AnswerTranslation, bytes: Buffer): Played {
  const stream = new StreamTranslation(translation, true)
  let sent = ''
  new SseSplitter().split(bytes, (chunk, start, stop) => {
    sent += stream.push(chunk, start, stop)
    return !stream.decoder.over
  })
  const end = stream.ended ? 'served' : stream.decoder.over ? 'lost' : null
  return {
    sent: Buffer.from(sent).toString('latin1'),
    end,
    tokens: booked(stream.decoder, stream.observedTextBytes),
  }
}

function booked(
  { usage, finished }: { readonly usage: Usage | null; readonly finished: boolean },
  observedTextBytes: number,
): RequestContext['tokens'] {
  const { ctx } = makeContext()
  settleUsage(ctx, { usage, observedTextBytes, complete: finished && usage !== null })
  return ctx.tokens
}

function streamOf(start: string, piece: fc.Arbitrary<string>, end: string): fc.Arbitrary<string> {
  return fc
    .tuple(fc.array(piece, { maxLength: 40 }), fc.constantFrom('\n', '\n', '\r\n', '\r'))
    .map(([pieces, lineEnd]) => (start + pieces.join('') + end).replaceAll('\n', lineEnd))
}

function changed(stream: string, changes: readonly (readonly [number, number])[]): Buffer {
  const bytes = Buffer.from(stream)
  for (const [place, byte] of changes) bytes[place % bytes.length] = byte
  return bytes
}

function chat(content: object, more: object = {}, index = 0): string {
  const choices = [{ index, delta: content, finish_reason: null }]
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices, ...more })}\n\n`
}

function delta(value: object, index = 0): string {
  return message({ type: 'content_block_delta', index, delta: value })
}

function message(value: { readonly type: string; readonly [field: string]: unknown }): string {
  return `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`
}
