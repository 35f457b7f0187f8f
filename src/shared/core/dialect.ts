import type { BodyDialectName } from './endpoint.ts'
import type { GatewayError } from './errors.ts'
import type { HostQuirks } from './host-quirks.ts'
import type { RequestBody } from './request-body.ts'
import type { VideoProtocol } from './service.ts'
import type { Usage } from './usage.ts'

/** What to do with one event of an upstream's stream. */
export type EventVerdict =
  | 'forward'
  /** Not for this client (usage it did not ask for). */
  | 'drop'
  /** The last event of a whole answer: forward it, then end. */
  | 'terminal'
  /** The upstream reports a failure in the stream; see `StreamInspector.failure`. */
  | 'error'

/**
 * Reads an upstream's events as they pass, without changing them. One per stream.
 * `inspect` takes one whole SSE event, its closing blank line included.
 */
export interface StreamInspector {
  inspect(bytes: Buffer, start: number, end: number): EventVerdict
  /**
   * Index behind the event at `start`, when it is whole before `limit`, and differs from earlier ones in nothing but its text: forward
   * it; `inspect` need not see it. Else -1. An event must begin at `start`.
   */
  takeOrdinary(bytes: Buffer, start: number, limit: number): number
  /** The last usage seen; null when the upstream has sent none (an explicit zero is not "none"). */
  readonly usage: Usage | null
  /** Once the stream is over, `usage` is the provider's final count. */
  readonly usageIsFinal: boolean
  /** A finish reason was seen: a stream that ends now without its terminal event is whole all the same. */
  readonly finished: boolean
  /** Bytes of generated text, reasoning and tool arguments that passed, for streams that never report usage. */
  readonly observedTextBytes: number
  readonly failure: UpstreamFailure | null
  /** The event that reports `usage` to a client that asked for it, when the upstream sent none; null: no event is due. */
  usageEvent?(usage: Usage): Buffer | null
}

/** A provider's error, read from an HTTP answer or from an event. */
export interface UpstreamFailure {
  /** As the provider wrote it; redact before showing. Empty when it gave none. */
  readonly message: string
  /** The provider's `type` or `code`, for the log and for classifying. */
  readonly type: string
  /** Its `code`, where that is a text. */
  readonly code?: string
  /** The field that it names. */
  readonly param?: string
  /** Its `status`, where that is a text, and reasons among its details. */
  readonly reasons?: readonly string[]
  /** The wait that its body asks for. */
  readonly retryAfterSeconds?: number
}

/** A job at a provider. */
export interface VendorJobName {
  /** The provider's name for it. */
  readonly id: string
  /** The protocol by which it is polled. */
  readonly protocol: VideoProtocol
}

/** A buffered answer of an upstream. */
export interface BufferedAnswer {
  readonly usage: Usage | null
  /** Bytes of generated text, where the answer has no usage; else 0. */
  readonly observedTextBytes: number
  /** Set when a 200 holds an error instead of an answer, or no answer at all. */
  readonly failure: UpstreamFailure | null
  /** The body for the client; null: the upstream's bytes. */
  readonly body: Buffer | null
  /** The job that the upstream began instead of an answer. */
  readonly job?: VendorJobName
  /** Names of what the client's dialect cannot carry. */
  readonly dropped?: readonly string[]
}

/** The parts of a request that are needed to read its answer. Plain data: it goes to worker threads. */
export type AnswerRequest = Pick<RequestBody, 'expected' | 'estimatedPromptTokens'>

/** Changes by routing in a body that otherwise passes byte for byte. */
export interface BodyEdits {
  /** The upstream's name of the model. */
  readonly model: string
  readonly stream: boolean
  /** Deviations of the upstream from its dialect's own service. */
  readonly quirks?: HostQuirks
}

/** A wire protocol: functions of values, without sockets and clock. */
export interface Dialect {
  readonly name: BodyDialectName
  /**
   * The body for the upstream: with the upstream's name of the model, without upstream addresses and keys that the client sent,
   * and with a request for usage in streams. All other bytes stay. The same buffer when nothing needs to change.
   */
  prepareBody(body: RequestBody, edits: BodyEdits): Buffer
  /** Names of fields of the client that `prepareBody` leaves out; absent for dialects that leave out none. */
  leftOut?(body: RequestBody, edits: BodyEdits): readonly string[]
  /** @param clientWantsUsage the client asked for usage in its stream */
  inspectStream(clientWantsUsage: boolean): StreamInspector
  /** Reads a buffered 200, and converts it to the form that the request asks for. Throws SyntaxError when it is not JSON. */
  readAnswer(body: Buffer, request: AnswerRequest): BufferedAnswer
  /** Reads the body of an upstream answer that is not a 200, of whatever shape: JSON object, array, string, HTML, text. */
  readFailure(status: number, body: Buffer): UpstreamFailure
  /** The error body of the contract. */
  renderError(error: GatewayError, requestId: string): string
  /** The error as the last event of a stream. */
  renderErrorEvent(error: GatewayError, requestId: string): Buffer
  /** Ends a stream that was whole but lacked its terminal event. */
  readonly terminalEvent: Buffer
}
