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
 * What an upstream's model takes. Data of provider and catalogue; `DEFAULT_TARGET` is what the dialect's own service takes
 * today.
 */
export interface Target extends HostQuirks {
  /** The upstream's name of the model. */
  readonly model: string
  readonly stream: boolean
  /** Most tokens the model can answer; null: not known. */
  readonly maxOutputTokens: number | null
  /** How the model is told to reason. */
  readonly reasoning: 'none' | 'effort' | 'budget' | 'adaptive'
  /** Efforts it knows, in rising order; others become the nearest below, or the lowest. */
  readonly efforts: readonly string[]
  /** False: temperature, top_p, top_k are refused. */
  readonly takesSampling: boolean
  /** Temperature and top_p in one request. */
  readonly takesTemperatureWithTopP: boolean
  readonly takesTopK: boolean
  /** The last message may be the beginning of the answer. */
  readonly takesPrefill: boolean
  /** Instructions may stand among the messages. */
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
  /** Which turns of the assistant its reasoning is sent back with. */
  readonly reasoningBack: 'never' | 'tool-turns' | 'always'
  /** Ids of calls: most characters, and exactly so many alphanumerics where not null. */
  readonly maxToolIdLength: number
  readonly exactToolIdLength: number | null
  /** Fields of the client's dialect that this host knows by the same name; they pass unchanged. */
  readonly passFields: readonly string[]
  /** Tools of its own that it has, by the names that clients of responses use (`web_search`); absent: none. */
  readonly hostedTools?: readonly string[]
  /** Flags by which a client of messages has asked for what is in trial; absent: none. */
  readonly betas?: readonly string[]
}

/** What a provider takes otherwise than its dialect's own service. */
export type TargetQuirks = Partial<Omit<Target, 'model' | 'stream' | 'betas'>>

/** How a call under the upstream's name is given back to the client. */
export interface ToolAlias {
  readonly name: string
  readonly kind: 'function' | 'custom' | 'legacy'
}

/** What must be undone in the answer, because the request could not be said as it was. Plain: it travels. */
export interface Restoration {
  /** By the name that the upstream knows. */
  readonly tools: Readonly<Record<string, ToolAlias>>
  /** The input of calls of this tool is the answer's text. */
  readonly answerTool: string | null
}

export interface BuiltRequest {
  readonly body: JsonObject
  /** Names of what could not be carried, each once. */
  readonly dropped: readonly string[]
  /** Null: answers need no more than their codec. */
  readonly restoration: Restoration | null
}

export interface BuiltAnswer {
  readonly body: JsonObject
  readonly dropped: readonly string[]
}

/** What an answer needs that the upstream's does not hold. The caller has the clock and the ids. */
export interface AnswerOptions {
  /** Letters and digits that no other answer has: for ids that the upstream did not give. */
  readonly id: string
  /** The name of the model that the client asked for; null: the upstream's. */
  readonly model: string | null
  /** Unix time in seconds. */
  readonly created: number
  /** Shown until, or unless, the upstream counts. */
  readonly estimatedPromptTokens: number
  /** Signatures of thinking are shown to clients whose dialect has no place for them (`reasoning_details`). */
  readonly reasoningDetails: boolean
  /** What the answer repeats of the request, where its dialect does; see `ClientCodec.echoOf`. */
  readonly echo?: JsonObject | null
}

export interface EncoderOptions extends AnswerOptions {
  /** The client wants usage in its stream. */
  readonly wantsUsage: boolean
}

/** Reads one upstream stream. */
export interface StreamDecoder {
  /**
   * Takes one whole event of the wire (`bytes[start, end)`, its blank line or frame included) and pushes what it means.
   * Pushes nothing more after `end` or `error`.
   */
  decode(bytes: Buffer, start: number, end: number, out: StreamEvent[]): void
  /** The body has ended: pushes `end` for a stream that was whole, else `error`; nothing when either was pushed before. */
  finish(out: StreamEvent[]): void
  /** `end` or `error` has been pushed. */
  readonly over: boolean
  /** A finish reason was seen: a stream that goes on with nothing but usage may be ended by `finish`. */
  readonly finished: boolean
  readonly usage: Usage | null
  readonly failure: UpstreamFailure | null
}

/** Writes one stream for a client. */
export interface StreamEncoder {
  /** The bytes of the event as text; empty when it has none. An `error` is for the caller to render: empty. */
  encode(event: StreamEvent): string
  /** The last text of a stream that failed, for dialects whose error event depends on what went before it. */
  encodeFailure?(error: GatewayError, requestId: string): string
  /** What the client's dialect could not carry, each name once. */
  readonly dropped: ReadonlySet<string>
}

/** What the headers of a call may depend on. */
export interface CallerHeaders {
  readonly dialect: DialectName
  /** Lower-case names. */
  readonly headers: IncomingRequest['headers']
  /** Begins the names of the messages protocol's headers, as clients send them. */
  readonly vendor: string
}

/** A dialect as upstreams speak it. Values in, values out: no sockets, no clock. */
export interface UpstreamCodec {
  readonly name: WireDialect
  /** Path and query of a call. @param base path of the base URL, without a trailing slash */
  path(base: string, model: string, stream: boolean): string
  /** Adds the headers of the dialect, and those of the client that it knows: flat names and values, lower-case names. */
  addHeaders?(headers: string[], caller: CallerHeaders): void
  /** What the dialect's own service takes today. */
  readonly defaultTarget: Target
  /** How a stream is cut into what `decode` takes. */
  readonly framing: 'sse' | 'aws-event-stream'
  /** Throws GatewayError UNSUPPORTED_FIELD, naming the field, for what must not be left out. */
  buildRequest(conversation: Conversation, target: Target): BuiltRequest
  /** The body of a status 200; a failure when it holds an error, or no answer at all. */
  parseAnswer(body: unknown): Answer | UpstreamFailure
  createDecoder(): StreamDecoder
}

/** A dialect as clients speak it. */
export interface ClientCodec {
  readonly name: WireDialect
  /** A body that passed validation. */
  parseRequest(body: unknown): Conversation
  /** What of the request, as it came, answers repeat. */
  repeatedFields?(body: unknown): JsonObject
  buildAnswer(answer: Answer, options: AnswerOptions): BuiltAnswer
  createEncoder(options: EncoderOptions): StreamEncoder
}

/** A dialect both ways. */
export interface Codec extends UpstreamCodec, ClientCodec {}

/** What `parseAnswer` gives when there is no answer. */
export function isFailure(read: Answer | UpstreamFailure): read is UpstreamFailure {
  return !('content' in read)
}
