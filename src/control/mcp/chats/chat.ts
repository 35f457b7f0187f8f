import type { Json } from '../tool-source.ts'
import type { Approvals } from './approvals.ts'
import type { OfferedServer, OfferedTool } from './offered-tools.ts'

/** A call that the model makes of an offered tool. */
export interface ModelCall {
  /** The id that the model's answer gives it. */
  readonly callId: string
  /** The id of its item in the answer to the client. */
  readonly itemId: string
  readonly offered: OfferedTool
  /** JSON text. */
  readonly input: string
  /** The id of the approval request that the client has approved; absent: the call needed none. */
  readonly approval?: string
}

/** The outcome of a call. */
export type CallResult =
  { readonly output: string; readonly error: null } | { readonly output: null; readonly error: string }

/** An error as clients read it. */
export interface ToldError {
  readonly type: string
  readonly message: string
  readonly code: string
  readonly param: string | null
}

/** The calls that are left to make at the end of a round. */
export interface RoundEnd {
  readonly calls: readonly ModelCall[]
  /** The last bytes of the client's stream. */
  readonly text?: string
  /** No round follows: the client must approve calls. */
  readonly isPaused?: boolean
}

/** Calls that the client has approved: they are made before the first round. */
export interface ApprovedCalls {
  readonly calls: readonly ModelCall[]
  readonly ends: (call: ModelCall, result: CallResult) => void
}

export interface ChatTerms {
  /** The body of the request. */
  readonly body: Json
  readonly servers: readonly OfferedServer[]
  readonly approvals: Approvals
}

/**
 * One request with tools of servers, in the protocol of its client: makes the bodies of its rounds, reads their answers, and makes one answer of
 * them. Texts that its methods return are parts of a stream for the client; they are empty where the answer is whole.
 */
export interface Chat {
  readonly path: string
  readonly isStream: boolean
  readonly model: string
  /** Of all rounds that were read. */
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
  readonly approved?: ApprovedCalls
  /** The body of the next round. @param isLast the model must answer without tools */
  roundBody(isLast: boolean): Json
  /** Reads the data of one event of a round's stream. Throws BrokenRound. */
  readEvent(data: string): string
  /** Reads a round's whole answer. */
  readWhole(answer: Json): void
  /** The round is over: its calls, unless the client has to go on. */
  endRound(isLast: boolean): RoundEnd
  callBegins(call: ModelCall): string
  callEnds(call: ModelCall, result: CallResult): string
  /** The end of the stream. */
  end(): string
  /** The whole answer. */
  whole(): Json
  /** The end of a stream that fails after its begin. */
  fail(error: ToldError, requestId: string): string
}

/** A round whose stream tells an error. */
export class BrokenRound extends Error {
  /** The last part of the client's stream. */
  readonly text: string

  constructor(text: string) {
    super('the stream of a round ended with an error')
    this.name = 'BrokenRound'
    this.text = text
  }
}
