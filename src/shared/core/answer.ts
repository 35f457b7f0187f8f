import type { Block } from './content.ts'
import type { WireDialect } from './conversation.ts'
import type { JsonObject } from './json-object.ts'
import type { Usage } from './usage.ts'

/** The reason why an answer ended. It is `tool-calls` for each answer that ended by itself and holds a call. */
export type StopReason =
  | 'end'
  | 'stop-sequence'
  | 'length'
  | 'context-window'
  | 'tool-calls'
  | 'content-filter'
  | 'refusal'
  /** A long turn of the server's tools pauses; sending the answer back continues it. */
  | 'pause'

export interface Stop {
  readonly reason: StopReason
  /** The upstream's own stop reason; null when it gave none. */
  readonly native: string | null
  /** The stop sequence that ended the answer, where the dialect reports it. */
  readonly sequence: string | null
  /** Further details, as the dialect writes them. */
  readonly details: JsonObject | null
}

/** A whole answer in the dialect-neutral form. */
export interface Answer {
  readonly from: WireDialect
  /** Empty when the upstream gave none. */
  readonly id: string
  readonly model: string
  /** Unix time in seconds; null when the dialect does not tell. */
  readonly created: number | null
  /** Thinking, text and calls in the order of the dialect; thinking comes before its result. */
  readonly content: readonly Block[]
  readonly stop: Stop
  /** Null when the upstream reported none. */
  readonly usage: Usage | null
  /** Usage as its dialect writes it. */
  readonly nativeUsage: JsonObject | null
  readonly extra: JsonObject | null
}
