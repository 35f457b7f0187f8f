import type { Answer } from './answer.ts'
import type { EventList } from './events.ts'
import type { UsageFigures } from './usage-text.ts'

/** Everything that a dialect needs to write one answer. */
export interface WireAnswer {
  /** Unique part of the answer's id. */
  readonly id: string
  /** Unix seconds. */
  readonly created: number
  readonly model: string
  readonly choices: number
  readonly includeUsage: boolean
  /** The request names the tool to call. */
  readonly namedTool: boolean
  readonly answer: Answer
  readonly usage: UsageFigures
}

export interface ErrorContext {
  readonly model: string
  readonly credential: string
  readonly requestId: string
  /** Replaces the default text. */
  readonly message?: string
  readonly param?: string | null
  readonly code?: string | null
  readonly retryAfter?: number | string | null
}

/** A dialect as the simulator writes it. Its events are text, or bytes as one character each (`latin1`). */
export interface Wire {
  readonly streamType: string
  readonly encoding: 'utf8' | 'latin1'
  /** Status of the answer to a refused credential. */
  readonly unauthorizedStatus: 401 | 403
  /** Header lines of every answer, each with its line end. */
  headers(requestId: string, processingMs: number): string
  body(answer: WireAnswer): string
  events(answer: WireAnswer): EventList
  /** An event in the middle of an answer, with this text. */
  longEvent(answer: WireAnswer, text: string): string
  /** The terminal event of a stream. */
  terminal(): string
  errorBody(status: number, context: ErrorContext): string
  /** Header lines that only errors have. */
  errorHeaders(status: number, context: ErrorContext): string
  errorEvent(context: ErrorContext): string
}

/** The streaming format of all dialects but those of AWS. */
export const SERVER_SENT_EVENTS = {
  streamType: 'text/event-stream; charset=utf-8',
  encoding: 'utf8',
  unauthorizedStatus: 401,
} as const satisfies Partial<Wire>
