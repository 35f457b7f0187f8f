import type { GatewayError } from '../../shared/core/errors.ts'
import type { UpstreamTimeouts } from '../../shared/core/snapshot.ts'

/** One HTTP call to a provider. */
export interface UpstreamRequest {
  readonly origin: string
  readonly path: string
  readonly method: 'GET' | 'POST'
  /** Flat list of names and values; values are bytes in Latin-1, as they came. */
  readonly headers: readonly string[]
  /** More of them, behind those: one list for many requests, whose lines are made once. */
  readonly common?: readonly string[]
  readonly body: Buffer | null
  readonly timeouts: UpstreamTimeouts
  /**
   * The server may hear of it once at most: it goes out on a new connection where one may be opened, is never sent again,
   * and UPSTREAM_UNREACHABLE means that nothing was sent.
   */
  readonly once?: boolean
  /** The address is not the operator's own: nothing is connected to but what `UpstreamReach` allows. */
  readonly publicOnly?: boolean
}

export type UpstreamHeaders = Readonly<Record<string, string | string[] | undefined>>

/** Hears of the answer. After `onEnd` or `onError` nothing follows; after `abort` nothing at all. */
export interface UpstreamListener {
  onHead(status: number, headers: UpstreamHeaders): void
  /** The bytes are valid until this returns. */
  onData(chunk: Buffer): void
  onEnd(): void
  /**
   * The connection that the request left on had been closed while it rested: the server has done nothing. True: the request is sent
   * again, on a new connection, which happens once at most. False: the error is told to `onError`. Without this listener it is sent again.
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
   * A whole event of the answer has come: the idle timer begins anew. By itself it does so for the head, for each KiB of the body, and
   * for blank lines before the body begins.
   */
  progressed(): void
  /** Hangs up at once. */
  abort(): void
}

export interface UpstreamClient {
  send(request: UpstreamRequest, listener: UpstreamListener): UpstreamCall
  close(): Promise<void>
}
