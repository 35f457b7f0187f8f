import type { GatewayError } from '../../shared/core/errors.ts'
import type { UpstreamTimeouts } from '../../shared/core/snapshot.ts'

/** One HTTP call to a provider. */
export interface UpstreamRequest {
  readonly origin: string
  readonly path: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Flat list of names and values; values are raw bytes in Latin-1. */
  readonly headers: readonly string[]
  /** Further headers, sent after `headers`: one list for many requests, which is serialized once. */
  readonly common?: readonly string[]
  readonly body: Buffer | null
  readonly timeouts: UpstreamTimeouts
  /**
   * The server may receive the request at most once. It is sent on a new connection if one may be opened, and never sent again;
   * UPSTREAM_UNREACHABLE means that nothing was sent.
   */
  readonly once?: boolean
  /** Somebody other than the operator chose the address: the client connects only to addresses that `UpstreamReach` allows. */
  readonly publicOnly?: boolean
}

export type UpstreamHeaders = Readonly<Record<string, string | string[] | undefined>>

/** Gets the body of an answer as ranges of the buffer that the sockets read into, which saves a view of each piece. */
export interface BodySink {
  /** The range `bytes[from, to)` is valid until this returns; the next read overwrites it. */
  take(bytes: Buffer, from: number, to: number): void
}

/** Gets the answer. `onEnd` or `onError` is the last call. After `abort` there are no calls. */
export interface UpstreamListener {
  /** Returns the sink of the body, if `onData` is not to get it. */
  onHead(status: number, headers: UpstreamHeaders): BodySink | void
  /** The bytes are valid until this returns. */
  onData(chunk: Buffer): void
  onEnd(): void
  /**
   * The server had closed the idle connection before the request arrived, so it has done nothing. True: the request is sent again on a
   * new connection, at most once. False: `onError` gets the error. Without this method the request is sent again.
   */
  onStale?(error: GatewayError): boolean
  /** UPSTREAM_UNREACHABLE, UPSTREAM_TIMEOUT or UPSTREAM_TRUNCATED. */
  onError(error: GatewayError): void
}

export interface UpstreamCall {
  /** Stops the flow of data; the idle timer stops with it. */
  pause(): void
  resume(): void
  /**
   * Restarts the idle timer, because a whole event of the answer has arrived. The client itself restarts it for the head, for each KiB
   * of the body, and for blank lines before the body begins.
   */
  progressed(): void
  /** Closes the connection at once. */
  abort(): void
}

export interface UpstreamClient {
  send(request: UpstreamRequest, listener: UpstreamListener): UpstreamCall
  close(): Promise<void>
}
