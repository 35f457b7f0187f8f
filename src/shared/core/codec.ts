import type { Answer } from './answer.ts'
import type { Conversation, WireDialect } from './conversation.ts'
import type { UpstreamFailure } from './dialect.ts'
import type { DialectName } from './endpoint.ts'
import type { IncomingRequest } from './exchange.ts'
import type { HostQuirks } from './host-quirks.ts'
import type { GatewayError } from './errors.ts'
import type { JsonObject } from './json-object.ts'
import type { StreamEvent } from './stream-event.ts'
import type { Usage } from './usage.ts'

/**
 * What an upstream's model accepts, by provider and catalogue. `UpstreamCodec.defaultTarget` is what the dialect's own service
 * accepts today.
 */
export interface Target extends HostQuirks {
  /** The upstream's name of the model. */
  readonly model: string
  readonly stream: boolean
  /** Most tokens the model can answer; null: not known. */
  readonly maxOutputTokens: number | null
  /** How a request asks the model to reason. */
  readonly reasoning: 'none' | 'effort' | 'budget' | 'adaptive'
  /** Efforts it knows, in rising order; others become the nearest below, or the lowest. */
  readonly efforts: readonly string[]
  /** False: temperature, top_p, top_k are refused. */
  readonly takesSampling: boolean
  /** Temperature and top_p may be in one request. */
  readonly takesTemperatureWithTopP: boolean
  readonly takesTopK: boolean
  /** The last message may be the beginning of the answer. */
  readonly takesPrefill: boolean
  /** System messages may come after other messages. */
  readonly takesSystemAnywhere: boolean
  readonly takesDeveloperRole: boolean
  /** Content must be a string wherever it can be. */
  readonly plainContent: boolean
  /** User and assistant must take turns. */
  readonly alternates: boolean
  readonly takesCacheMarks: boolean
  readonly takesCustomTools: boolean
  /** `tool`: a forced tool whose input becomes the text. */
  readonly schemaOutput: 'native' | 'tool' | 'instruction'
  readonly takesJsonMode: boolean
  /** Name of the limit of tokens, in dialects that have two. */
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens'
  readonly maxStopSequences: number
  /** The assistant turns that are sent back with their reasoning. */
  readonly reasoningBack: 'never' | 'tool-turns' | 'always'
  /** Most characters of the id of a call, and its exact number of letters and digits (null: any). */
  readonly maxToolIdLength: number
  readonly exactToolIdLength: number | null
  /** Fields of the client's dialect that this host knows by the same name; they pass unchanged. */
  readonly passFields: readonly string[]
  /** Tools that the provider runs, by their names in the responses protocol (`web_search`); absent: none. */
  readonly hostedTools?: readonly string[]
  /** Beta flags that a client of the messages protocol has sent; absent: none. */
  readonly betas?: readonly string[]
}

/** Deviations of a provider from its dialect's own service. */
export type TargetQuirks = Partial<Omit<Target, 'model' | 'stream' | 'betas'>>

/** The client's name and kind of a tool that has another name at the upstream. */
export interface ToolAlias {
  readonly name: string
  readonly kind: 'function' | 'custom' | 'legacy'
}

/** Changes of the request that the answer must undo. Plain data: it may go to worker threads. */
export interface Restoration {
  /** By the name of the tool at the upstream. */
  readonly tools: Readonly<Record<string, ToolAlias>>
  /** The input of calls of this tool is the answer's text. */
  readonly answerTool: string | null
}

export interface BuiltRequest {
  readonly body: JsonObject
  /** Names of fields that could not be carried, each once. */
  readonly dropped: readonly string[]
  /** Null: the answer has nothing to undo. */
  readonly restoration: Restoration | null
}

export interface BuiltAnswer {
  readonly body: JsonObject
  readonly dropped: readonly string[]
}

/** Data of an answer that the upstream's answer does not hold. The caller has the clock and the ids. */
export interface AnswerOptions {
  /** Unique letters and digits, for ids that the upstream did not give. */
  readonly id: string
  /** The name of the model that the client asked for; null: the upstream's. */
  readonly model: string | null
  /** Unix time in seconds. */
  readonly created: number
  /** Shown until the upstream reports a count, or if it never does. */
  readonly estimatedPromptTokens: number
  /** Shows signatures of thinking in `reasoning_details` to clients whose dialect has no field for them. */
  readonly reasoningDetails: boolean
  /** Fields of the request that the answer repeats, if its dialect does; see `ClientCodec.repeatedFields`. */
  readonly echo?: JsonObject | null
}

export interface EncoderOptions extends AnswerOptions {
  /** The client wants usage in its stream. */
  readonly wantsUsage: boolean
}

/** An event that repeats an earlier one in all but its text. */
export interface OrdinaryText {
  /** Bounds of the text: the inside of a JSON string, valid UTF-8 without escapes and control characters, not empty. */
  readonly textStart: number
  readonly textEnd: number
  /** Index behind the event. */
  readonly end: number
}

/** Reads one upstream stream. */
export interface StreamDecoder {
  /**
   * Takes one whole event of the wire (`bytes[start, end)`, its blank line or frame included) and pushes its events.
   * Pushes nothing more after `end` or `error`.
   */
  decode(bytes: Buffer, start: number, end: number, out: StreamEvent[]): void
  /**
   * The event at `start`, when it is whole before `limit` and `decode` would push one `text-delta` for it, and keep nothing of it; null
   * for others. An event must begin at `start`. Valid until the next call. Absent: the decoder knows no such events.
   */
  ordinaryText?(bytes: Buffer, start: number, limit: number): OrdinaryText | null
  /** For the end of the body: pushes `end` when the stream was whole, else `error`; nothing when either was pushed before. */
  finish(out: StreamEvent[]): void
  /** `end` or `error` has been pushed. */
  readonly over: boolean
  /** A finish reason was seen. Only usage may follow: `finish` may end the stream. */
  readonly finished: boolean
  readonly usage: Usage | null
  readonly failure: UpstreamFailure | null
}

/** The text around the JSON string of each text of a stream. */
export interface TextFrame {
  readonly head: string
  readonly tail: string
}

/** Writes one stream for a client. */
export interface StreamEncoder {
  /** The event as text of the wire; empty when the dialect has none, and for `error`, which the caller renders. */
  encode(event: StreamEvent): string
  /** The frame that `encode` writes around the text of a `text-delta`, until it gets another kind of event. Absent: each delta differs. */
  textFrame?(): TextFrame
  /** Counts UTF-16 units of text that the caller has written in the frame, in place of `encode`. */
  countText?(characters: number): void
  /** The last text of a stream that failed, for dialects whose error event depends on what went before it. */
  encodeFailure?(error: GatewayError, requestId: string): string
  /** Names of what the client's dialect could not carry, each once. */
  readonly dropped: ReadonlySet<string>
}

/** The data of a client that the headers of a call may depend on. */
export interface CallerHeaders {
  readonly dialect: DialectName
  /** Lower-case names. */
  readonly headers: IncomingRequest['headers']
  /** Prefix of the messages protocol's header names, as clients send them. */
  readonly vendor: string
}

/** The upstream side of a dialect: functions of values, without sockets and clock. */
export interface UpstreamCodec {
  readonly name: WireDialect
  /** Path and query of a call. @param base path of the base URL, without a trailing slash */
  path(base: string, model: string, stream: boolean): string
  /** Adds to `headers`, a flat list of lower-case names and values, those of the dialect and those of the client that it knows. */
  addHeaders?(headers: string[], caller: CallerHeaders): void
  /** The target of the dialect's own service today. */
  readonly defaultTarget: Target
  /** The framing of streams: what `decode` takes as one event. */
  readonly framing: 'sse' | 'aws-event-stream'
  /** Throws GatewayError UNSUPPORTED_FIELD, naming the field, for a field that must not be dropped. */
  buildRequest(conversation: Conversation, target: Target): BuiltRequest
  /** Reads the body of a status 200; gives a failure when it holds an error, or no answer at all. */
  parseAnswer(body: unknown): Answer | UpstreamFailure
  createDecoder(): StreamDecoder
}

/** The client side of a dialect. */
export interface ClientCodec {
  readonly name: WireDialect
  /** Reads a body that passed validation. */
  parseRequest(body: unknown): Conversation
  /** The fields of the original request that answers repeat. */
  repeatedFields?(body: unknown): JsonObject
  buildAnswer(answer: Answer, options: AnswerOptions): BuiltAnswer
  createEncoder(options: EncoderOptions): StreamEncoder
}

/** Both sides of a dialect. */
export interface Codec extends UpstreamCodec, ClientCodec {}

/** Whether `parseAnswer` has found a failure instead of an answer. */
export function isFailure(read: Answer | UpstreamFailure): read is UpstreamFailure {
  return !('content' in read)
}
