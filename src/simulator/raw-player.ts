import type { Exchange } from './exchange.ts'
import type { Outcome } from './ledger.ts'
import type { Resumable } from './pacer.ts'
import type { Ending } from './stream-player.ts'

export interface RawPlan {
  readonly bytes: Buffer
  /** Offsets of the ends of the pieces, ascending; the last is the length of `bytes`. */
  readonly ends: readonly number[]
  /** Pause between two pieces; 0: the next turn of the event loop. */
  readonly intervalMs: number
  readonly ending: Ending
  readonly outcome: Outcome
  readonly keepAlive: boolean
  readonly promptTokens: number
  readonly cachedTokens: number
  /** Offsets in `bytes` at which further completion tokens have been sent. */
  readonly marks: readonly TokenMark[]
}

export interface TokenMark {
  readonly end: number
  readonly tokens: number
  readonly events: number
}

/** Writes bytes in given pieces: one socket write for each, in separate turns of the event loop. */
export class RawPlayer implements Resumable {
  readonly #exchange: Exchange
  readonly #plan: RawPlan
  #piece = 0
  #written = 0
  #mark = 0

  constructor(exchange: Exchange, plan: RawPlan) {
    this.#exchange = exchange
    this.#plan = plan
  }

  resume(): void {
    const exchange = this.#exchange
    if (exchange.over || exchange.waitsForDrain) return
    const { bytes, ends, intervalMs, marks, promptTokens, cachedTokens } = this.#plan
    if (this.#piece === 0) exchange.producedPrompt(promptTokens, cachedTokens)
    const end = ends[this.#piece++] ?? bytes.length
    let events = 0
    let tokens = 0
    for (let mark = marks[this.#mark]; mark !== undefined && mark.end <= end; mark = marks[++this.#mark]) {
      events += mark.events
      tokens += mark.tokens
    }
    const goesOn = end === this.#written || exchange.write(bytes.subarray(this.#written, end), events)
    exchange.producedCompletion(tokens)
    this.#written = end
    if (this.#piece >= ends.length) this.#end()
    else if (!goesOn) return
    else if (intervalMs > 0) exchange.pacer.at(this, exchange.pacer.now() + intervalMs)
    else exchange.pacer.nextTurn(this)
  }

  #end(): void {
    const { ending, outcome, keepAlive } = this.#plan
    if (ending === 'whole') this.#exchange.complete(outcome, keepAlive)
    else if (ending === 'close') this.#exchange.hangUp()
    else if (ending === 'reset') this.#exchange.reset()
  }
}

/** Ends of pieces of one byte each. */
export function everyByte(length: number, from = 0): number[] {
  const ends: number[] = from > 0 ? [from] : []
  for (let end = from + 1; end <= length; end++) ends.push(end)
  return ends
}

/** Ends of pieces that split the bytes inside each multi-byte character, and nowhere else. */
export function tornCharacters(bytes: Buffer): number[] {
  const ends: number[] = []
  for (let i = 1; i < bytes.length; i++) {
    const torn = ((bytes[i] ?? 0) & 0xc0) === 0x80
    if (torn) ends.push(i)
  }
  ends.push(bytes.length)
  return ends
}

/** Ends of pieces of 1 to 64 bytes; the seed determines them. */
export function seededPieces(length: number, seed: number): number[] {
  const ends: number[] = []
  let state = seed >>> 0
  let end = 0
  while (end < length) {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    end = Math.min(length, end + 1 + (((mixed ^ (mixed >>> 14)) >>> 0) % 64))
    ends.push(end)
  }
  return ends
}
