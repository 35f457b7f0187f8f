/** A request copied out of the server's buffers: safe to keep. */
export interface IncomingRequest {
  /** Upper case. */
  readonly method: string
  readonly path: string
  /** Without the question mark. */
  readonly query: string
  /** Names in lower case; repeated fields are joined by ", " (a repeated Content-Length or Host never gets here). */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Of the client, after trusted proxies. */
  readonly address: string
  /** Values of the route's `:parameters`, decoded. */
  readonly params: readonly string[]
}

/** A number holds nothing that has to be looked for before it goes out. */
export type HeaderList = ReadonlyArray<readonly [name: string, value: string | number]>

/**
 * The answer to one request. Ends once: whatever comes after the end or an abort is ignored. Every method may be called
 * at any time, in any order that begins with `send` or `start`.
 */
export interface Responder {
  /** The client is gone. */
  readonly aborted: boolean
  /** Status and headers have left. */
  readonly started: boolean
  /** Called once when the client leaves before the end; at once if it has left already. */
  onAbort(listener: () => void): void
  /** A whole answer. */
  send(status: number, headers: HeaderList, body: Buffer | string): void
  /** Status and headers of a streamed answer; they leave with the first write. */
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
}
