import type { Answer } from './answer.ts'
import type { EventList } from './events.ts'
import type { UsageFigures } from './usage-text.ts'

/** Everything a dialect needs to write one answer. */
export interface WireAnswer {
  /** Unique part of the answer's id. */
  readonly id: string
  /** Unix seconds. */
  readonly created: number
  readonly model: string
  readonly choices: number
  readonly includeUsage: boolean
  /** The request named the tool that it wants called. */
  readonly namedTool: boolean
  readonly answer: Answer
  readonly usage: UsageFigures
}

export interface ErrorContext {
  readonly model: string
  readonly credential: string
  readonly requestId: string
  /** Replaces the usual text. */
  readonly message?: string
  readonly param?: string | null
  readonly code?: string | null
  readonly retryAfter?: number | string | null
}

/** A wire language. Its events are text, or bytes with one character for each. */
export interface Wire {
  readonly streamType: string
  readonly encoding: 'utf8' | 'latin1'
  /** Of an answer to a credential that is not let in. */
  readonly unauthorizedStatus: 401 | 403
  /** Header lines of every answer, each with its line end. */
  headers(requestId: string, processingMs: number): string
  body(answer: WireAnswer): string
  events(answer: WireAnswer): EventList
  /** An event in the middle of an answer whose text is this long. */
  longEvent(answer: WireAnswer, text: string): string
  /** What ends a whole stream. */
  terminal(): string
  errorBody(status: number, context: ErrorContext): string
  /** Header lines that only errors have. */
  errorHeaders(status: number, context: ErrorContext): string
  errorEvent(context: ErrorContext): string
}

/** How all dialects stream but those of AWS. */
export const SERVER_SENT_EVENTS = {
  streamType: 'text/event-stream; charset=utf-8',
  encoding: 'utf8',
  unauthorizedStatus: 401,
} as const satisfies Partial<Wire>
