import { Pool } from 'undici'
import type { Dispatcher } from 'undici'
import type { DeadlineClock } from '../core/deadlines.ts'
import { Deadline } from '../core/deadlines.ts'
import { GatewayError } from '../core/errors.ts'
import { createCachedLookup } from './dns-cache.ts'
import type {
  UpstreamCall,
  UpstreamClient,
  UpstreamHeaders,
  UpstreamListener,
  UpstreamRequest,
} from './upstream-client.ts'

export interface UndiciClientOptions {
  readonly deadlines: DeadlineClock
  readonly connectionsPerOrigin: number
  readonly connectTimeoutMs: number
}

/** Upstream calls over undici: a pool per origin (keys are headers), timers of our own. */
export class UndiciClient implements UpstreamClient {
  readonly #options: UndiciClientOptions
  readonly #origins = new Map<string, Origin>()
  readonly #lookup = createCachedLookup()

  constructor(options: UndiciClientOptions) {
    this.#options = options
  }

  send(request: UpstreamRequest, listener: UpstreamListener): UpstreamCall {
    const call = new UndiciCall(request, listener, this.#options.deadlines)
    call.dispatch(this.#origin(request.origin))
    return call
  }

  async close(): Promise<void> {
    await Promise.all([...this.#origins.values()].map(({ pool }) => pool.destroy()))
    this.#origins.clear()
  }

  #origin(url: string): Origin {
    let origin = this.#origins.get(url)
    if (origin === undefined) {
      const pool = new Pool(url, {
        connections: this.#options.connectionsPerOrigin,
        pipelining: 1,
        allowH2: false,
        headersTimeout: 0,
        bodyTimeout: 0,
        keepAliveTimeout: 30_000,
        keepAliveMaxTimeout: 600_000,
        connect: { timeout: this.#options.connectTimeoutMs, lookup: this.#lookup, noDelay: true },
      })
      origin = { pool, hasAnswered: false }
      this.#origins.set(url, origin)
    }
    return origin
  }
}

interface Origin {
  readonly pool: Pool
  /** At least one answer came: a reset may be a kept-alive connection that the server had just closed. */
  hasAnswered: boolean
}

/** What undici's errors mean, by their code. */
const UNREACHABLE = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])
const SOCKET_LOST = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

class UndiciCall implements UpstreamCall, Dispatcher.DispatchHandler {
  readonly #request: UpstreamRequest
  readonly #listener: UpstreamListener
  readonly #deadlines: DeadlineClock
  readonly #deadline: Deadline
  readonly #totalAtMs: number
  #controller: Dispatcher.DispatchController | null = null
  #origin: Origin | null = null
  #headSeen = false
  #over = false
  #paused = false
  #resent = false

  constructor(request: UpstreamRequest, listener: UpstreamListener, deadlines: DeadlineClock) {
    this.#request = request
    this.#listener = listener
    this.#deadlines = deadlines
    this.#totalAtMs = deadlines.nowMs + request.timeouts.totalMs
    this.#deadline = new Deadline(() => {
      this.#expire()
    })
    this.#deadline.atMs = Math.min(deadlines.nowMs + request.timeouts.firstByteMs, this.#totalAtMs)
    deadlines.watch(this.#deadline)
  }

  dispatch(origin: Origin): void {
    this.#origin = origin
    const { path, method, headers, body } = this.#request
    origin.pool.dispatch({ path, method, headers: [...headers], body }, this)
  }

  pause(): void {
    if (this.#over) return
    this.#paused = true
    this.#deadline.atMs = this.#totalAtMs
    this.#controller?.pause()
  }

  resume(): void {
    if (this.#over) return
    this.#paused = false
    this.#touch()
    this.#controller?.resume()
  }

  abort(): void {
    if (this.#over) return
    this.#finish()
    this.#controller?.abort(new Error('hung up'))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#over) controller.abort(new Error('hung up'))
  }

  onResponseStart(_controller: Dispatcher.DispatchController, statusCode: number, headers: UpstreamHeaders): void {
    if (this.#over || statusCode < 200) return
    this.#headSeen = true
    this.#touch()
    this.#listener.onHead(statusCode, headers)
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#over) return
    this.#touch()
    this.#listener.onData(chunk)
  }

  onResponseEnd(): void {
    if (this.#over) return
    this.#finish()
    if (this.#origin !== null) this.#origin.hasAnswered = true
    this.#listener.onEnd()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#over) return
    const code = (error as NodeJS.ErrnoException).code ?? ''
    if (this.#mayResend(error, code)) {
      this.#resent = true
      this.#controller = null
      // Not from within the failing client's own error handling.
      setImmediate(() => {
        if (!this.#over && this.#origin !== null) this.dispatch(this.#origin)
      })
      return
    }
    this.#finish()
    this.#listener.onError(this.#failureOf(error, code))
  }

  /**
   * A server may close an idle connection just as a request leaves on it (RFC 9112 §9.3.1). Once, and only if not one byte of
   * this answer came and the socket had answered before; where undici does not tell the socket, its origin stands for it.
   */
  #mayResend(error: Error, code: string): boolean {
    if (this.#headSeen || this.#resent || !SOCKET_LOST.has(code)) return false
    const { socket } = error as { socket?: { bytesRead?: number } }
    return socket === undefined ? this.#origin?.hasAnswered === true : (socket.bytesRead ?? 0) > 0
  }

  #failureOf(error: Error, code: string): GatewayError {
    const details = { cause: error, detail: `${code} ${error.message}`.trim() }
    if (this.#headSeen) return new GatewayError('UPSTREAM_TRUNCATED', details)
    if (UNREACHABLE.has(code) || SOCKET_LOST.has(code)) return new GatewayError('UPSTREAM_UNREACHABLE', details)
    return new GatewayError('UPSTREAM_INVALID_ANSWER', details)
  }

  #expire(): void {
    if (this.#over) return
    this.#finish()
    this.#controller?.abort(new Error('timed out'))
    this.#listener.onError(
      new GatewayError('UPSTREAM_TIMEOUT', { detail: this.#headSeen ? 'idle or total' : 'first byte' }),
    )
  }

  #touch(): void {
    if (this.#paused) return
    this.#deadline.atMs = Math.min(this.#deadlines.nowMs + this.#request.timeouts.idleMs, this.#totalAtMs)
  }

  #finish(): void {
    this.#over = true
    this.#deadlines.forget(this.#deadline)
  }
}
