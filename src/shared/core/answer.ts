import type { Block } from './content.ts'
import type { WireDialect } from './conversation.ts'
import type { JsonObject } from './json-object.ts'
import type { Usage } from './usage.ts'

/** Why an answer ended. `tool-calls` whenever it ended by itself and holds a call, whatever the upstream said. */
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
  /** The upstream's own word; null when it gave none. */
  readonly native: string | null
  /** The stop sequence that was met, where the dialect tells. */
  readonly sequence: string | null
  /** What the dialect says beyond that. */
  readonly details: JsonObject | null
}

/** A whole answer in the form between the dialects. */
export interface Answer {
  readonly from: WireDialect
  /** Empty when the upstream gave none. */
  readonly id: string
  readonly model: string
  /** Unix time in seconds; null when the dialect does not tell. */
  readonly created: number | null
  /** Thinking, text and calls in the order of the dialect; thinking comes before what it led to. */
  readonly content: readonly Block[]
  readonly stop: Stop
  /** Null when the upstream counted nothing. */
  readonly usage: Usage | null
  /** Usage as its dialect writes it. */
  readonly nativeUsage: JsonObject | null
  readonly extra: JsonObject | null
}
