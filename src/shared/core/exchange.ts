import type { ToolCallReport } from './tool-call.ts'

/** A request copied out of the server's buffers: safe to keep. */
export interface IncomingRequest {
  /** Upper case. */
  readonly method: string
  readonly path: string
  /** Without the question mark. */
  readonly query: string
  /**
   * Names in lower case; repeated fields are joined by ", " (a repeated Content-Length or Host never gets here). Empty once a streamed
   * answer has begun.
   */
  headers: Readonly<Record<string, string | undefined>>
  /** Some of the headers are tags (`TAG_HEADER`). */
  readonly hasTags: boolean
  /** The address of the client, resolved through trusted proxies. */
  readonly address: string
  /** Values of the route's `:parameters`, decoded. */
  readonly params: readonly string[]
  /** The digest of the entry key, in requests that the control process makes for a caller. Absent: the headers have the key. */
  readonly keyDigest?: string
}

/** A value that is a number needs no check before it is sent. */
export type HeaderList = ReadonlyArray<readonly [name: string, value: string | number]>

/**
 * The answer to one request. It ends once: calls after the end or an abort are ignored. Every method may be called at any
 * time, in any order that begins with `send` or `start`.
 */
export interface Responder {
  /** The client is gone. */
  readonly aborted: boolean
  /** Status and headers were sent. */
  readonly started: boolean
  /** Called once when the client leaves before the end; at once if it has left already. */
  onAbort(listener: () => void): void
  /** Sends a whole answer. */
  send(status: number, headers: HeaderList, body: Buffer | string): void
  /** Sets status and headers of a streamed answer. The first write sends them. */
  start(status: number, headers: HeaderList): void
  /** False: the client is slow, wait for `onDrain` before the next write. */
  write(chunk: Buffer): boolean
  /** Called each time the client has caught up after a write that returned false. */
  onDrain(listener: () => void): void
  end(lastChunk?: Buffer): void
  /** Cuts the connection. */
  destroy(): void
}

/** One request and its answer, as the server hands it to a route. */
export interface Exchange {
  readonly request: IncomingRequest
  readonly response: Responder
  /** The whole body, bounded in size and time; rejects with BODY_TOO_LARGE, BODY_TIMEOUT, CLIENT_CLOSED. */
  readBody(): Promise<Buffer>
  /** Resolves to the end of a tool call, which the control process makes. Absent: the request came from a client. */
  readonly reported?: Promise<ToolCallReport>
}
