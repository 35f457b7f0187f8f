import type { LookupFunction } from 'node:net'
import type { DeadlineClock } from '../../../shared/runtime/deadlines.ts'
import { Deadline } from '../../../shared/runtime/deadlines.ts'
import { GatewayError } from '../../../shared/core/errors.ts'
import { UpstreamReach } from '../../../shared/core/upstream-reach.ts'
import { connectWithin, openSocket } from '../connector.ts'
import type { Connect } from '../connector.ts'
import { createCachedLookup } from '../dns-cache.ts'
import type {
  BodySink,
  UpstreamCall,
  UpstreamClient,
  UpstreamHeaders,
  UpstreamListener,
  UpstreamRequest,
} from '../upstream-client.ts'
import { AnswerPace } from './answer-pace.ts'
import type { Connection, Exchange } from './connection.ts'
import { ConnectionPool } from './connection-pool.ts'
import { HttpFault } from './http-fault.ts'
import { serializeRequest } from './serialize-request.ts'

/**
 * A connection that breaks this soon after a request was sent on it had been closed while idle: the farthest servers are half as
 * far away. One that breaks later may have broken while the server worked on the request.
 */
const STALE_MS = 250
/** Error codes: the file limit of this process, and of the machine, is reached. */
const FILE_LIMIT_CODES: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE'])
const NOTHING: readonly Buffer[] = []
const NO_DESCRIPTOR = 'all connections to upstreams are busy; raise the limit of open files (ulimit -n) of this process'

export interface Http1ClientOptions {
  readonly deadlines: DeadlineClock
  /** The most connections to all origins together; Infinity: one per call. */
  readonly maxConnections: number
  /** The addresses allowed for `publicOnly` requests. Default: the public Internet. */
  readonly reach?: UpstreamReach
  readonly connect?: Connect
  readonly lookup?: LookupFunction
}

/**
 * Makes upstream calls over keep-alive HTTP/1.1 connections, with one pool per origin: upstream keys are only headers. A
 * general HTTP client was the most expensive part of a request.
 */
export class Http1Client implements UpstreamClient {
  readonly #options: Http1ClientOptions
  readonly #pools = new Map<string, ConnectionPool>()
  readonly #lookup: LookupFunction
  readonly #connect: Connect
  readonly #connectWithin: Connect
  #open = 0

  constructor(options: Http1ClientOptions) {
    const { reach = new UpstreamReach(), connect = openSocket, lookup = createCachedLookup() } = options
    this.#options = options
    this.#lookup = lookup
    this.#connect = connect
    this.#connectWithin = connectWithin(reach, connect)
  }

  send(request: UpstreamRequest, listener: UpstreamListener): UpstreamCall {
    const call = new Http1Call(request, listener, this.#pool(request), this.#options.deadlines)
    call.begin()
    return call
  }

  close(): Promise<void> {
    for (const pool of this.#pools.values()) pool.close()
    this.#pools.clear()
    return Promise.resolve()
  }

  /** `publicOnly` requests have their own pools: they must not use a connection that was opened without the address check. */
  #pool({ origin, publicOnly = false }: UpstreamRequest): ConnectionPool {
    const name = publicOnly ? `public ${origin}` : origin
    let pool = this.#pools.get(name)
    if (pool === undefined) {
      pool = new ConnectionPool({
        origin,
        connect: publicOnly ? this.#connectWithin : this.#connect,
        lookup: this.#lookup,
        deadlines: this.#options.deadlines,
        mayOpen: () => this.#open < this.#options.maxConnections || this.#closeIdle(),
        onChange: (change) => {
          this.#open += change
        },
      })
      this.#pools.set(name, pool)
    }
    return pool
  }

  /** Closes an idle connection, for one to another origin; false when all are busy. */
  #closeIdle(): boolean {
    for (const pool of this.#pools.values()) if (pool.closeIdle()) return true
    return false
  }
}

/**
 * One call. It takes a connection, sends the request, and receives the response. Its timers run from the beginning. It keeps the request
 * only until the head of the response, because a stream may last for minutes.
 */
class Http1Call implements UpstreamCall, Exchange {
  bytes: readonly Buffer[]
  readonly #timeouts: UpstreamRequest['timeouts']
  /** The request must not be sent again. */
  readonly #isOnce: boolean
  readonly #listener: UpstreamListener
  readonly #pool: ConnectionPool
  readonly #deadlines: DeadlineClock
  readonly #deadline: Deadline
  readonly #totalAtMs: number
  readonly #pace = new AnswerPace()
  #connection: Connection | null = null
  #sink: BodySink | null = null
  #isConnecting = false
  #headSeen = false
  #isOver = false
  #isPaused = false
  #isResent = false
  #sentAtMs = 0

  constructor(request: UpstreamRequest, listener: UpstreamListener, pool: ConnectionPool, deadlines: DeadlineClock) {
    this.bytes = serializeRequest(request)
    this.#timeouts = request.timeouts
    this.#isOnce = request.once === true
    this.#listener = listener
    this.#pool = pool
    this.#deadlines = deadlines
    const nowMs = deadlines.nowMs
    this.#totalAtMs = nowMs + request.timeouts.totalMs
    this.#deadline = new Deadline(() => {
      this.#expire()
    })
    this.#deadline.atMs = nowMs + Math.min(request.timeouts.firstByteMs, request.timeouts.totalMs)
  }

  begin(): void {
    this.#deadlines.watch(this.#deadline)
    this.#connect({ isFresh: this.#isOnce })
  }

  #connect(options: { readonly isFresh: boolean }): void {
    const connection = this.#pool.take(options)
    if (connection === null) {
      // The caller has no `UpstreamCall` yet, so the listener must get the failure after `send` has returned.
      queueMicrotask(() => {
        if (this.#isOver) return
        this.#finish()
        this.#listener.onError(new GatewayError('GATEWAY_OVERLOADED', { detail: NO_DESCRIPTOR, retryAfterSeconds: 1 }))
      })
      return
    }
    this.#connection = connection
    this.#sentAtMs = this.#deadlines.nowMs
    this.#isConnecting = !connection.isReused
    this.#expectWithin(this.#isConnecting ? this.#timeouts.connectMs : this.#timeouts.firstByteMs)
    connection.send(this)
  }

  onConnected(): void {
    this.#isConnecting = false
    this.#expectWithin(this.#timeouts.firstByteMs)
  }

  onHead(status: number, headers: UpstreamHeaders): void {
    this.#headSeen = true
    this.bytes = NOTHING
    this.#touch()
    this.#sink = this.#listener.onHead(status, headers) ?? null
  }

  onBody(bytes: Buffer, from: number, to: number): void {
    if (this.#isOver) return
    if (this.#pace.take(bytes, from, to)) this.#touch()
    if (this.#sink === null) this.#listener.onData(bytes.subarray(from, to))
    else this.#sink.take(bytes, from, to)
  }

  onComplete(): void {
    if (this.#isOver) return
    this.#finish()
    this.#listener.onEnd()
  }

  /**
   * Sends the request once more on a new connection, if no byte of the response has arrived: a server may close an idle connection
   * just as a request is sent on it (RFC 9112 §9.3.1).
   */
  onFailure(error: Error, hasBegun: boolean): void {
    if (this.#isOver) return
    const failure = this.#failureOf(error)
    if (!hasBegun && this.#isStale && this.#listener.onStale?.(failure) !== false) {
      this.#isResent = true
      this.#connection = null
      this.#connect({ isFresh: true })
      return
    }
    this.#finish()
    this.#listener.onError(failure)
  }

  pause(): void {
    if (this.#isOver) return
    this.#isPaused = true
    this.#deadline.atMs = this.#totalAtMs
    this.#connection?.pause()
  }

  resume(): void {
    if (this.#isOver) return
    this.#isPaused = false
    if (this.#headSeen) this.#touch()
    this.#connection?.resume()
  }

  progressed(): void {
    if (!this.#isOver) this.#touch()
  }

  abort(): void {
    if (this.#isOver) return
    this.#finish()
    this.#closeConnection()
  }

  get #isStale(): boolean {
    const mayResend = !this.#isOnce && !this.#isResent && this.#connection?.isReused === true
    return mayResend && this.#deadlines.nowMs - this.#sentAtMs <= STALE_MS
  }

  #expire(): void {
    if (this.#isOver) return
    const code = this.#isConnecting ? 'UPSTREAM_UNREACHABLE' : 'UPSTREAM_TIMEOUT'
    const detail = this.#isConnecting
      ? 'no connection within timeouts.connect_ms'
      : this.#headSeen
        ? 'no progress within timeouts.idle_ms, or no end within timeouts.total_ms'
        : 'no answer within timeouts.first_byte_ms or timeouts.total_ms'
    this.#finish()
    this.#closeConnection()
    this.#listener.onError(new GatewayError(code, { detail }))
  }

  #closeConnection(): void {
    this.#connection?.destroy()
  }

  #failureOf(error: Error): GatewayError {
    const code = (error as NodeJS.ErrnoException).code ?? ''
    const details = { cause: error, detail: `${code} ${error.message}`.trim() }
    // This is the gateway's own fault, and must not count against the upstream's keys.
    if (FILE_LIMIT_CODES.has(code)) return new GatewayError('GATEWAY_OVERLOADED', { ...details, retryAfterSeconds: 1 })
    const wasSent = this.#isOnce && !this.#isConnecting
    if (this.#headSeen || wasSent) return new GatewayError('UPSTREAM_TRUNCATED', details)
    if (error instanceof HttpFault) return new GatewayError('UPSTREAM_INVALID_ANSWER', details)
    return new GatewayError('UPSTREAM_UNREACHABLE', details)
  }

  #touch(): void {
    if (!this.#isPaused) this.#expectWithin(this.#timeouts.idleMs)
  }

  #expectWithin(ms: number): void {
    this.#deadline.atMs = Math.min(this.#deadlines.nowMs + ms, this.#totalAtMs)
  }

  #finish(): void {
    this.#isOver = true
    this.#deadlines.forget(this.#deadline)
  }
}
