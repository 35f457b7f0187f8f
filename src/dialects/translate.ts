import type { Answer } from '../shared/core/answer.ts'
import { isFailure } from '../shared/core/codec.ts'
import type {
  AnswerOptions,
  ClientCodec,
  Restoration,
  StreamDecoder,
  StreamEncoder,
  Target,
} from '../shared/core/codec.ts'
import type { Block } from '../shared/core/content.ts'
import type { BufferedAnswer, UpstreamFailure } from '../shared/core/dialect.ts'
import type { DialectName, UpstreamDialectName } from '../shared/core/endpoint.ts'
import type { GatewayError } from '../shared/core/errors.ts'
import type { JsonObject } from '../shared/core/json-object.ts'
import type { StreamEvent } from '../shared/core/stream-event.ts'
import { clientCodec, upstreamCodec } from './codecs.ts'
import { AnswerCollector } from './common/collect-answer.ts'
import { TRUNCATED_STREAM } from './common/event.ts'
import { eventSplitter } from './common/framing.ts'
import { replayAnswer } from './common/replay-answer.ts'
import { OrdinaryTexts } from './common/ordinary-texts.ts'
import { StreamRenameUndoer, undoRenames } from './common/undo-renames.ts'
import { inputText } from './common/tool-input.ts'

/** A client and an upstream that speak different dialects. Plain data: it goes to the worker pool. */
export interface Pair {
  readonly client: DialectName
  readonly upstream: UpstreamDialectName
}

export interface TranslatedRequest {
  readonly body: Buffer
  readonly dropped: readonly string[]
  readonly restoration: Restoration | null
  /** The fields of the request that its answer repeats. */
  readonly echo: JsonObject | null
}

/** The model and stream mode of a request, and the upstream's differences from the dialect's own service. */
export type TargetEdits = Pick<Target, 'model' | 'stream'> & Partial<Target>

/**
 * Builds the body for an upstream of another dialect. `bytes` have passed validation. Throws INVALID_FIELD for a field
 * without a meaning. Throws UNSUPPORTED_FIELD for a field that the upstream cannot receive and that must not be dropped.
 */
export function translateRequest(bytes: Buffer, pair: Pair, edits: TargetEdits): TranslatedRequest {
  const upstream = upstreamCodec(pair.upstream)
  const client = clientCodec(pair.client)
  const request: unknown = JSON.parse(bytes.toString('utf8'))
  const built = upstream.buildRequest(client.parseRequest(request), { ...upstream.defaultTarget, ...edits })
  const { dropped, restoration } = built
  return {
    body: Buffer.from(JSON.stringify(built.body)),
    dropped,
    restoration,
    echo: client.repeatedFields?.(request) ?? null,
  }
}

/** The data that translates an answer. Plain: it goes to the worker pool. */
export interface AnswerTranslation extends Pair {
  readonly restoration: Restoration | null
  readonly options: AnswerOptions
  /** Set when the host answered in the other form: a whole answer for a stream, or events for a whole answer. */
  readonly unasked?: { readonly form: 'whole' | 'events'; readonly wantsUsage: boolean }
}

export interface TranslatedAnswer extends BufferedAnswer {
  readonly dropped: readonly string[]
}

/** Translates a buffered answer to the form that the client asked for. Throws SyntaxError when a whole answer is not JSON. */
export function translateAnswer(bytes: Buffer, translation: AnswerTranslation): TranslatedAnswer {
  const { upstream, restoration, unasked } = translation
  const parsed =
    unasked?.form === 'events'
      ? collectAnswer(bytes, upstream)
      : upstreamCodec(upstream).parseAnswer(JSON.parse(bytes.toString('utf8')))
  if (isFailure(parsed)) return { usage: null, observedTextBytes: 0, failure: parsed, body: null, dropped: [] }
  const answer = restoration === null ? parsed : undoRenames(parsed, restoration)
  return {
    usage: answer.usage,
    observedTextBytes: answer.usage === null ? generatedBytes(answer.content) : 0,
    failure: null,
    ...(unasked?.form === 'whole' ? streamOf(answer, translation, unasked.wantsUsage) : wholeOf(answer, translation)),
  }
}

type Written = Pick<TranslatedAnswer, 'body' | 'dropped'>

function wholeOf(answer: Answer, { client, options }: AnswerTranslation): Written {
  const { body, dropped } = clientCodec(client).buildAnswer(answer, options)
  return { body: Buffer.from(JSON.stringify(body)), dropped }
}

function streamOf(answer: Answer, { client, options }: AnswerTranslation, wantsUsage: boolean): Written {
  const encoder = clientCodec(client).createEncoder({ ...options, wantsUsage })
  let text = ''
  for (const event of replayAnswer(answer)) text += encoder.encode(event)
  return { body: Buffer.from(text), dropped: [...encoder.dropped] }
}

/** Reads a whole stream as one answer. */
function collectAnswer(bytes: Buffer, upstream: UpstreamDialectName): Answer | UpstreamFailure {
  const decoder = upstreamCodec(upstream).createDecoder()
  const splitter = eventSplitter(upstream)
  const collector = new AnswerCollector()
  const events: StreamEvent[] = []
  const onEvent = (chunk: Buffer, start: number, end: number): boolean => {
    decoder.decode(chunk, start, end, events)
    return !decoder.over
  }
  splitter.split(bytes, onEvent)
  if (!decoder.over) splitter.finish(onEvent)
  if (!decoder.over) decoder.finish(events)
  for (const event of events) collector.take(event)
  return collector.answer ?? collector.failure ?? TRUNCATED_STREAM
}

/** Translates one stream, from the upstream's events to the text of the client's. */
export class StreamTranslation {
  readonly decoder: StreamDecoder
  readonly #encoder: StreamEncoder
  readonly #restorer: StreamRenameUndoer | null
  readonly #ordinary: OrdinaryTexts
  readonly #decoded: StreamEvent[] = []
  #ended = false
  #observedTextBytes = 0

  constructor(translation: AnswerTranslation, wantsUsage: boolean) {
    const client: ClientCodec = clientCodec(translation.client)
    this.decoder = upstreamCodec(translation.upstream).createDecoder()
    this.#encoder = client.createEncoder({ ...translation.options, wantsUsage })
    this.#ordinary = new OrdinaryTexts(this.decoder, this.#encoder)
    const { restoration } = translation
    this.#restorer = restoration === null ? null : new StreamRenameUndoer(restoration)
  }

  /** The upstream's stream was whole, and the last returned text ends the client's stream. */
  get ended(): boolean {
    return this.#ended
  }

  /** UTF-8 bytes of text, reasoning and calls so far. */
  get observedTextBytes(): number {
    return this.#observedTextBytes + this.#ordinary.textBytes
  }

  /** The parts of the answer that the client's dialect cannot carry. */
  get dropped(): ReadonlySet<string> {
    return this.#encoder.dropped
  }

  /** The end of a failed stream; null when the dialect ends all failed streams alike. */
  failure(error: GatewayError, requestId: string): string | null {
    return this.#encoder.encodeFailure?.(error, requestId) ?? null
  }

  /**
   * Translates the events at `from` that are whole before `to` and differ from earlier ones only in their text. Returns the index behind
   * them: `from` when there are none. An event must begin at `from`.
   */
  pushOrdinary(bytes: Buffer, from: number, to: number): number {
    return this.#restorer === null ? this.#ordinary.take(bytes, from, to) : from
  }

  /** The output of the last `pushOrdinary`, valid until that of any stream is called. */
  ordinaryOutput(): Buffer {
    return this.#ordinary.written()
  }

  /** Translates `bytes[start, end)`, one event of the upstream's. */
  push(bytes: Buffer, start: number, end: number): string {
    this.decoder.decode(bytes, start, end, this.#decoded)
    return this.#encoded()
  }

  /** Call when the upstream's body has ended. */
  finish(): string {
    this.decoder.finish(this.#decoded)
    return this.#encoded()
  }

  #encoded(): string {
    const decoded = this.#decoded
    let events = decoded
    if (this.#restorer !== null) {
      events = []
      for (const event of decoded) this.#restorer.restore(event, events)
    }
    let text = ''
    for (const event of events) {
      if (event.type === 'end') this.#ended = true
      else this.#observedTextBytes += bytesOf(event)
      if (event.type !== 'text-delta') this.#ordinary.forgetFrame()
      text += this.#encoder.encode(event)
    }
    decoded.length = 0
    return text
  }
}

/** UTF-8 bytes of text, reasoning and calls. */
function generatedBytes(content: readonly Block[]): number {
  let sum = 0
  for (const block of content) {
    if (block.type === 'tool-call') sum += Buffer.byteLength(block.name) + Buffer.byteLength(inputText(block.input))
    else if ('text' in block) sum += Buffer.byteLength(block.text)
  }
  return sum
}

function bytesOf(event: StreamEvent): number {
  switch (event.type) {
    case 'text-delta':
    case 'thinking-delta':
    case 'tool-delta':
      return Buffer.byteLength(event.text)
    case 'tool-start':
      return Buffer.byteLength(event.name)
    default:
      return 0
  }
}
