import type { ToolCallReport } from './tool-call.ts'

/** An AI request that the control process makes for a caller. The front serves it like one of a client. */
export interface AiRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The address of the caller. */
  readonly address: string
  /** The digest of the entry key that pays. */
  readonly keyDigest: string
  readonly body: Uint8Array
}

/** The answer to an AI request that the control process makes. */
export interface AiAnswer {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  /** Throws CONTROL_UNAVAILABLE when the front breaks it off. */
  readonly body: AsyncIterable<Buffer>
  /** Tells the front the end of a tool call that it has admitted. */
  readonly report: (report: ToolCallReport) => void
}
