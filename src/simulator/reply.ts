import { planAnswer } from './answer.ts'
import { LATE_USAGE_MS, type Behaviour } from './behaviour.ts'
import type { Exchange } from './exchange.ts'
import { faultedEvents, LONG_TEXT, playsRaw, sparesBody, sparesStream, wireFault } from './faults.ts'
import { jsonAnswer, type PlainAnswer } from './plain-request.ts'
import type { Prompt } from './prompt.ts'
import { everyByte, RawPlayer, tornCharacters, type RawPlan, type TokenMark } from './raw-player.ts'
import { renderRecorded, type RecordedAnswer } from './recorded.ts'
import { overlay, responseHead, type HeadParts } from './response-head.ts'
import type { Events } from './events.ts'
import type { Resumable } from './pacer.ts'
import { StreamPlayer, type Ending } from './stream-player.ts'
import type { ErrorContext, Wire, WireAnswer } from './wire.ts'

/** A request that has been read, with everything that its answer needs. */
export interface ReplySubject {
  readonly wire: Wire
  /** Unique part of the ids of the answer. */
  readonly id: string
  /** Null when `plain` is the answer. */
  readonly prompt: Prompt | null
  readonly plain: PlainAnswer
  readonly recorded: RecordedAnswer | null
  /** The target of the fault `redirect`. */
  readonly redirectTo: string
  /** The error for a request that the provider would refuse, whatever the behaviour. */
  readonly refusal: Refusal | null
}

export interface Refusal {
  readonly status: number
  readonly message?: string
  readonly param?: string | null
  readonly code?: string | null
}

const GARBAGE = Buffer.from(Array.from({ length: 256 }, (_, index) => (index * 89 + 200) % 256))
const HTML =
  '<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n' +
  '<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n'

/** Answers one request: waits for the delay of the behaviour, then writes the answer of the behaviour. */
export class Reply implements Resumable {
  readonly #exchange: Exchange
  readonly #subject: ReplySubject
  readonly #behaviour: Behaviour
  readonly #requestId: string
  #answer: WireAnswer | null = null

  constructor(exchange: Exchange, subject: ReplySubject) {
    this.#exchange = exchange
    this.#subject = subject
    this.#behaviour = exchange.behaviour
    this.#requestId = `req_${subject.id}`
  }

  start(): void {
    const { pacer, record } = this.#exchange
    const { prompt, refusal } = this.#subject
    record.fault = this.#behaviour.fault ?? null
    if (refusal === null && prompt !== null && !this.#isError()) this.#answer = this.#plan(prompt)
    const delayMs = this.#delayMs()
    this.#exchange.player = this
    if (delayMs > 0) pacer.at(this, pacer.now() + delayMs)
    else this.resume()
  }

  resume(): void {
    const exchange = this.#exchange
    if (exchange.over) return
    const { refusal, recorded, plain } = this.#subject
    if (refusal !== null) {
      this.#sendError(refusal.status, refusal)
      return
    }
    if (this.#playWireFault()) return
    if (recorded !== null) this.#replay(recorded)
    else if (this.#isError()) this.#sendError(this.#behaviour.status ?? 500, {})
    else if (this.#answer === null) this.#sendBody(plain)
    else if (this.#streams()) this.#stream(this.#answer)
    else this.#sendBody(this.#wholeAnswer(this.#answer))
  }

  #isError(): boolean {
    return (this.#behaviour.status ?? 200) >= 400 && this.#behaviour.fault !== 'html'
  }

  #streams(): boolean {
    return this.#subject.prompt?.stream === true && this.#behaviour.fault !== 'bare-json'
  }

  #delayMs(): number {
    const { ttftMs = 0, eventsPerSecond } = this.#behaviour
    if (this.#answer === null || this.#streams() || eventsPerSecond === undefined) return ttftMs
    return ttftMs + (this.#answer.answer.completionTokens * 1000) / eventsPerSecond
  }

  #plan(prompt: Prompt): WireAnswer {
    const behaviour = this.#behaviour
    const isLong = behaviour.fault === 'long-line' && !prompt.stream
    const answer = planAnswer(prompt, isLong ? { ...behaviour, text: LONG_TEXT } : behaviour)
    return {
      id: this.#subject.id,
      created: Math.floor(Date.now() / 1000),
      model: behaviour.modelOverride ?? prompt.model,
      choices: prompt.choices,
      includeUsage: prompt.includeUsage,
      namedTool: prompt.toolChoice.mode === 'named',
      answer,
      usage: {
        mode: behaviour.usage ?? 'normal',
        promptTokens: behaviour.promptTokens ?? prompt.promptTokens,
        completionTokens: behaviour.completionTokens ?? answer.completionTokens * prompt.choices,
        cachedTokens: behaviour.cachedTokens ?? 0,
      },
    }
  }

  /** Applies a fault that replaces the whole answer. Returns false when the behaviour has none. */
  #playWireFault(): boolean {
    const exchange = this.#exchange
    switch (wireFault(this.#behaviour.fault)) {
      case 'cut':
        exchange.cut()
        return true
      case 'reset':
        exchange.reset()
        return true
      case 'hang':
        return true
      case 'garbage':
        exchange.write(GARBAGE)
        exchange.hangUp()
        return true
      case 'redirect':
        this.#send(307, 'text/plain', `location: ${this.#subject.redirectTo}\r\n`, '')
        return true
      case 'html':
        this.#send(this.#behaviour.status ?? 502, 'text/html', '', this.#behaviour.errorBody ?? HTML)
        return true
      default:
        return false
    }
  }

  #sendError(status: number, more: Partial<Refusal>): void {
    const { wire } = this.#subject
    const { errorBody } = this.#behaviour
    const context = { ...this.#errorContext(), ...more }
    this.#send(
      status,
      typeOf(errorBody),
      wire.errorHeaders(status, context),
      errorBody ?? wire.errorBody(status, context),
    )
  }

  #errorContext(): ErrorContext {
    const { retryAfter } = this.#behaviour
    return {
      model: this.#exchange.record.model ?? '',
      credential: this.#exchange.record.credential,
      requestId: this.#requestId,
      ...(retryAfter === undefined ? {} : { retryAfter }),
    }
  }

  /** Sends a complete answer that is not a success. */
  #send(status: number, contentType: string, lines: string, body: string): void {
    const head = this.#head(status, contentType, Buffer.byteLength(body), lines)
    this.#exchange.write(this.#exchange.head.method === 'HEAD' ? head : head + body)
    this.#exchange.complete(status < 400 && status !== 307 ? 'ok' : 'fault', true)
  }

  #wholeAnswer(answer: WireAnswer): PlainAnswer & { cachedTokens: number } {
    const { promptTokens, completionTokens, cachedTokens } = answer.usage
    return { ...jsonAnswer(this.#subject.wire.body(answer), promptTokens, completionTokens), cachedTokens }
  }

  #sendBody(answer: PlainAnswer & { cachedTokens?: number }): void {
    const exchange = this.#exchange
    const { fault } = this.#behaviour
    const status = this.#behaviour.status ?? answer.status ?? 200
    const { body: whole, contentType, headers = '', promptTokens, cachedTokens = 0, completionTokens: tokens } = answer
    if (fault === undefined || sparesBody(fault)) {
      const head = this.#head(status, contentType, Buffer.byteLength(whole), headers)
      exchange.producedPrompt(promptTokens, cachedTokens)
      if (exchange.head.method === 'HEAD') exchange.write(head)
      else exchange.write(typeof whole === 'string' ? head + whole : Buffer.concat([Buffer.from(head), whole]))
      exchange.producedCompletion(tokens)
      exchange.complete('ok', true)
      return
    }
    const body = typeof whole === 'string' ? Buffer.from(this.#bentBody(whole)) : whole
    const lie = fault === 'wrong-content-length-short' ? -10 : fault === 'wrong-content-length-long' ? 10 : 0
    const head = Buffer.from(this.#head(status, contentType, Math.max(0, body.length + lie), ''))
    const bytes = Buffer.concat([head, body])
    const ending = endingOf(this.#behaviour)
    const last =
      ending === 'whole' || lie > 0 ? bytes.length : head.length + (fault.endsWith('headers') ? 0 : body.length >> 1)
    const outcome = playsRaw(fault) || fault === 'long-line' ? 'ok' : 'fault'
    this.#playRaw({
      bytes,
      ends: playsRaw(fault) ? this.#pieceEnds(bytes, head.length) : [last],
      ending,
      outcome,
      promptTokens,
      cachedTokens,
      marks: outcome === 'ok' ? [{ end: bytes.length, tokens, events: 0 }] : [],
    })
  }

  #bentBody(body: string): string {
    switch (this.#behaviour.fault) {
      case 'garbage-event':
        return '{"choices":[{"message":{"content":"\u0000\u0007 not json'
      case 'truncated-json':
        return body.slice(0, body.length >> 1)
      case 'error-in-200':
      case 'error-event-first':
      case 'error-event-mid':
        return this.#subject.wire.errorBody(500, this.#errorContext())
      default:
        return body
    }
  }

  #stream(answer: WireAnswer): void {
    const { fault, framing, eventsPerSecond, usage } = this.#behaviour
    const { wire } = this.#subject
    if (fault === 'error-in-200') {
      this.#sendBody({ ...this.#wholeAnswer(answer), body: '' })
      return
    }
    const whole = wire.events(answer)
    const events = faultedEvents(whole, wire, answer, this.#behaviour, this.#errorContext())
    if (fault !== undefined && (playsRaw(fault) || fault.startsWith('wrong-content-length'))) {
      this.#streamRaw(answer, events)
      return
    }
    const chunked = framing !== 'close' && this.#exchange.head.isHttp11
    const player = new StreamPlayer(this.#exchange, {
      head: this.#head(this.#behaviour.status ?? 200, wire.streamType, chunked ? 'chunked' : 'close', ''),
      events,
      encoding: wire.encoding,
      chunked,
      ending: endingOf(this.#behaviour),
      outcome: fault === undefined || sparesStream(fault) ? 'ok' : 'fault',
      eventsPerSecond: eventsPerSecond ?? null,
      pauseBefore: whole.usageIndex,
      pauseMs: usage === 'late' ? LATE_USAGE_MS : 0,
      promptTokens: answer.usage.promptTokens,
      cachedTokens: answer.usage.cachedTokens,
      completionTokens: answer.usage.completionTokens,
    })
    this.#exchange.player = player
    player.resume()
  }

  /** Writes a stream as one block of bytes, for faults below the level of events. */
  #streamRaw(answer: WireAnswer, events: Events): void {
    const { fault } = this.#behaviour
    const { encoding, streamType } = this.#subject.wire
    const chunked = fault !== undefined && playsRaw(fault) && this.#exchange.head.isHttp11
    const parts: Buffer[] = []
    const marks: TokenMark[] = []
    let length = 0
    for (let i = 0; i < events.count; i++) {
      const text = events.text(i)
      const size = Buffer.byteLength(text, encoding).toString(16)
      const part = Buffer.from(chunked ? `${size}\r\n${text}\r\n` : text, encoding)
      parts.push(part)
      length += part.length
      marks.push({ end: length, tokens: events.tokens(i), events: 1 })
    }
    if (chunked) parts.push(Buffer.from('0\r\n\r\n'))
    // The last event counts the tokens that the usage reports beyond those of the events.
    const counted = marks.reduce((sum, mark) => sum + mark.tokens, 0)
    const last = chunked ? marks.pop() : undefined
    if (last !== undefined) marks.push({ ...last, tokens: last.tokens + answer.usage.completionTokens - counted })
    const lie = fault === 'wrong-content-length-short' ? -10 : 10
    const head = Buffer.from(this.#head(200, streamType, chunked ? 'chunked' : Math.max(0, length + lie), ''))
    const bytes = Buffer.concat([head, ...parts])
    this.#playRaw({
      bytes,
      ends: chunked ? this.#pieceEnds(bytes, head.length) : [bytes.length],
      ending: endingOf(this.#behaviour),
      outcome: chunked ? 'ok' : 'fault',
      promptTokens: answer.usage.promptTokens,
      cachedTokens: answer.usage.cachedTokens,
      marks: marks.map((mark) => ({ ...mark, end: mark.end + head.length })),
    })
  }

  #replay(recorded: RecordedAnswer): void {
    const { promptTokens = 0, cachedTokens = 0, completionTokens = 0 } = this.#behaviour
    const { bytes, ends } = renderRecorded(recorded)
    this.#exchange.record.status = recorded.status
    this.#playRaw({
      bytes,
      ends,
      ending: 'whole',
      outcome: recorded.status < 400 ? 'ok' : 'fault',
      promptTokens,
      cachedTokens,
      marks: [{ end: bytes.length, tokens: completionTokens, events: 0 }],
    })
  }

  #pieceEnds(bytes: Buffer, headLength: number): number[] {
    switch (this.#behaviour.fault) {
      case 'byte-by-byte':
        return everyByte(bytes.length)
      case 'slow-bytes':
        return everyByte(bytes.length, headLength)
      default:
        return tornCharacters(bytes)
    }
  }

  #playRaw(plan: Omit<RawPlan, 'intervalMs' | 'keepAlive'>): void {
    const { fault, bytesPerSecond = 1, eventsPerSecond, recorded } = this.#behaviour
    const slow = fault === 'slow-bytes' ? 1000 / bytesPerSecond : 0
    const paced = recorded !== undefined && eventsPerSecond !== undefined ? 1000 / eventsPerSecond : 0
    const player = new RawPlayer(this.#exchange, { ...plan, intervalMs: slow + paced, keepAlive: true })
    this.#exchange.player = player
    player.resume()
  }

  #head(status: number, contentType: string, framing: HeadParts['framing'], lines: string): string {
    const { record, head } = this.#exchange
    record.status = status
    const usual = this.#subject.wire.headers(this.#requestId, Date.now() - record.startedAt)
    return responseHead({
      status,
      contentType,
      framing,
      keepAlive: head.keepAlive,
      lines: overlay(usual, lines),
      overrides: this.#behaviour.headers,
    })
  }
}

function endingOf({ fault }: Behaviour): Ending {
  switch (fault) {
    case 'reset-after-headers':
    case 'reset-mid-stream':
      return 'reset'
    case 'hang-after-headers':
    case 'hang-mid-stream':
      return 'hang'
    case 'close-mid-stream':
    case 'wrong-content-length-long':
      return 'close'
    default:
      return 'whole'
  }
}

function typeOf(body: string | undefined): string {
  if (body === undefined || /^\s*[{[]/.test(body)) return 'application/json'
  return body.trimStart().startsWith('<') ? 'text/html' : 'text/plain'
}
