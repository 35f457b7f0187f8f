import type { Pieces } from './tokens.ts'

/** The events of a stream, rendered on demand. */
export interface Events {
  readonly count: number
  /** The event with its field names and the blank line. */
  text(index: number): string
  /** Completion tokens that the event carries. */
  tokens(index: number): number
}

export interface StreamEvent {
  readonly text: string
  readonly tokens: number
}

export interface EventListParts {
  readonly head: readonly StreamEvent[]
  /** One event for each piece and choice; the choices alternate. */
  readonly pieces: Pieces
  /** The event text before a piece, for each choice. */
  readonly prefixes: readonly string[]
  readonly suffix: string
  readonly tail: readonly StreamEvent[]
  /** Index in `tail` of the event that carries the usage; -1: none. */
  readonly usageAt: number
  /** Number of events from the terminal event to the end. */
  readonly terminals: number
}

/** A complete, correct stream: `head`, one event for each piece from a template, `tail`. */
export class EventList implements Events {
  readonly count: number
  /** Number of events before the one with the usage; `count` when none has it. */
  readonly usageIndex: number
  /** Number of events before the terminal event. */
  readonly terminalIndex: number
  readonly #parts: EventListParts
  readonly #tailStart: number
  readonly #wrap: ((text: string) => string) | null

  /** @param wrap maps the text of each event before it is sent */
  constructor(parts: EventListParts, wrap: ((text: string) => string) | null = null) {
    this.#parts = parts
    this.#wrap = wrap
    this.#tailStart = parts.head.length + parts.pieces.length * parts.prefixes.length
    this.count = this.#tailStart + parts.tail.length
    this.usageIndex = parts.usageAt === -1 ? this.count : this.#tailStart + parts.usageAt
    this.terminalIndex = this.count - parts.terminals
  }

  /** The same events, with one more event before them. */
  preceded(text: string): EventList {
    return new EventList({ ...this.#parts, head: [{ text, tokens: 0 }, ...this.#parts.head] }, this.#wrap)
  }

  /** The same events in another framing. */
  wrapped(wrap: (text: string) => string): EventList {
    return new EventList(this.#parts, wrap)
  }

  text(index: number): string {
    return this.#wrap === null ? this.#textAt(index) : this.#wrap(this.#textAt(index))
  }

  #textAt(index: number): string {
    const { head, prefixes, pieces, suffix, tail } = this.#parts
    if (index < head.length) return head[index]?.text ?? ''
    if (index >= this.#tailStart) return tail[index - this.#tailStart]?.text ?? ''
    const place = index - head.length
    if (prefixes.length === 1) return (prefixes[0] ?? '') + pieces.escapedAt(place) + suffix
    const choice = place % prefixes.length
    return (prefixes[choice] ?? '') + pieces.escapedAt((place - choice) / prefixes.length) + suffix
  }

  tokens(index: number): number {
    const { head, tail } = this.#parts
    if (index < head.length) return 0
    return index < this.#tailStart ? 1 : (tail[index - this.#tailStart]?.tokens ?? 0)
  }
}

/** The first `before` events of a stream, then the inserted ones, then the rest or the end. */
export class SplicedEvents implements Events {
  readonly count: number
  readonly #base: Events
  readonly #before: number
  readonly #inserted: readonly string[]

  constructor(base: Events, before: number, inserted: readonly string[], then: 'rest' | 'end') {
    this.#base = base
    this.#before = Math.min(before, base.count)
    this.#inserted = inserted
    this.count = inserted.length + (then === 'rest' ? base.count : this.#before)
  }

  text(index: number): string {
    if (index < this.#before) return this.#base.text(index)
    return this.#inserted[index - this.#before] ?? this.#base.text(index - this.#inserted.length)
  }

  tokens(index: number): number {
    if (index < this.#before) return this.#base.tokens(index)
    const inserted = index - this.#before < this.#inserted.length
    return inserted ? 0 : this.#base.tokens(index - this.#inserted.length)
  }
}

/** The events of a stream, each mapped. */
export class MappedEvents implements Events {
  readonly count: number
  readonly #base: Events
  readonly #map: (text: string) => string

  constructor(base: Events, map: (text: string) => string) {
    this.count = base.count
    this.#base = base
    this.#map = map
  }

  text(index: number): string {
    return this.#map(this.#base.text(index))
  }

  tokens(index: number): number {
    return this.#base.tokens(index)
  }
}
