import type { Events } from './events.ts'
import type { Exchange } from './exchange.ts'
import type { Outcome } from './ledger.ts'
import type { Resumable } from './pacer.ts'

/** Approximate size of one write. A slow peer has at most this and the socket's buffer, of the same size, in its queue. */
const BATCH_CHARACTERS = 64 * 1024

/** What happens after the last event. */
export type Ending = 'whole' | 'close' | 'reset' | 'hang'

export interface StreamPlan {
  readonly head: string
  readonly events: Events
  readonly encoding: 'utf8' | 'latin1'
  readonly chunked: boolean
  readonly ending: Ending
  readonly outcome: Outcome
  /** Null: as fast as the peer reads. */
  readonly eventsPerSecond: number | null
  /** Index of the event before which the stream pauses for `pauseMs`. */
  readonly pauseBefore: number
  readonly pauseMs: number
  readonly promptTokens: number
  readonly cachedTokens: number
  /** Completion tokens that the usage reports; the ledger counts them when the stream is whole. */
  readonly completionTokens: number
}

/** Writes a stream, paced or as fast as the peer reads, and at most one batch ahead of the peer. */
export class StreamPlayer implements Resumable {
  readonly #exchange: Exchange
  readonly #plan: StreamPlan
  #next = 0
  #tokens = 0
  #startedAt = 0
  #pauseUntil = 0
  #begun = false

  constructor(exchange: Exchange, plan: StreamPlan) {
    this.#exchange = exchange
    this.#plan = plan
    if (plan.pauseMs === 0) this.#pauseUntil = -1
  }

  resume(): void {
    const exchange = this.#exchange
    if (exchange.over || exchange.waitsForDrain) return
    const { events, encoding, chunked, ending } = this.#plan
    let prefix = ''
    if (!this.#begun) {
      prefix = this.#begin()
    }
    const limit = this.#limit()
    let batch = ''
    let count = 0
    let tokens = 0
    while (this.#next < limit && batch.length < BATCH_CHARACTERS) {
      batch += events.text(this.#next)
      tokens += events.tokens(this.#next)
      this.#next++
      count++
    }
    this.#tokens += tokens
    const finished = this.#next >= events.count
    let bytes = prefix
    if (batch !== '') bytes += chunked ? `${Buffer.byteLength(batch, encoding).toString(16)}\r\n${batch}\r\n` : batch
    if (finished && ending === 'whole' && chunked) bytes += '0\r\n\r\n'
    const goesOn = bytes === '' || exchange.write(encoding === 'utf8' ? bytes : Buffer.from(bytes, encoding), count)
    exchange.producedCompletion(tokens)
    if (finished) this.#end()
    else if (goesOn) this.#wait(limit)
  }

  #begin(): string {
    this.#begun = true
    this.#startedAt = this.#exchange.pacer.now()
    this.#exchange.producedPrompt(this.#plan.promptTokens, this.#plan.cachedTokens)
    return this.#plan.head
  }

  /** The number of events that may be written by now. */
  #limit(): number {
    const { events, eventsPerSecond, pauseBefore, pauseMs } = this.#plan
    const now = this.#exchange.pacer.now()
    let limit = events.count
    if (eventsPerSecond !== null) {
      limit = Math.min(limit, Math.floor(((now - this.#startedAt) * eventsPerSecond) / 1000 + 1e-6) + 1)
    }
    if (this.#pauseUntil === -1 || limit <= pauseBefore) return limit
    if (this.#next < pauseBefore) return pauseBefore
    if (this.#pauseUntil === 0) this.#pauseUntil = now + pauseMs
    if (now < this.#pauseUntil) return pauseBefore
    this.#startedAt += pauseMs
    this.#pauseUntil = -1
    return this.#limit()
  }

  #wait(limit: number): void {
    const { eventsPerSecond } = this.#plan
    const { pacer } = this.#exchange
    if (this.#pauseUntil > 0) pacer.at(this, this.#pauseUntil)
    else if (this.#next < limit || eventsPerSecond === null) pacer.nextTurn(this)
    else pacer.at(this, this.#startedAt + (this.#next * 1000) / eventsPerSecond)
  }

  #end(): void {
    const exchange = this.#exchange
    const { ending, outcome, chunked, completionTokens } = this.#plan
    if (ending === 'whole' && outcome === 'ok') exchange.producedCompletion(completionTokens - this.#tokens)
    if (ending === 'whole') exchange.complete(outcome, chunked)
    else if (ending === 'close') exchange.hangUp()
    else if (ending === 'reset') exchange.reset()
  }
}
