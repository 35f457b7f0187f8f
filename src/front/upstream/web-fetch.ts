import { GatewayError } from '../../shared/core/errors.ts'
import { UpstreamReach } from '../../shared/core/upstream-reach.ts'
import type { Clock } from '../../shared/runtime/clock.ts'
import { DeadlineClock } from '../../shared/runtime/deadlines.ts'
import { Http1Client } from './http1/http1-client.ts'
import type { Http1ClientOptions } from './http1/http1-client.ts'
import type { UpstreamCall, UpstreamHeaders, UpstreamRequest } from './upstream-client.ts'

/** Silent streams of events last as long as their server keeps them. */
const DAY_MS = 86_400_000
const MAX_CONNECTIONS = 1_024
const BODILESS: ReadonlySet<number> = new Set([101, 204, 205, 304])
const LINE_FEED = 10
const CARRIAGE_RETURN = 13

export interface WebFetchOptions {
  /** False: the operator gave the address, which may be anywhere. */
  readonly publicOnly: boolean
  readonly connectMs: number
  /** Longest time until the head of an answer. */
  readonly firstByteMs: number
  /** Bytes of a body; of a stream of events: of one event. */
  readonly maxBytes: number
  /**
   * The answer to this request may be a stream of events, however long, because its reader takes one event after the other. All others
   * are bodies, whatever their types say.
   */
  readonly mayStream: (method: string, sent: string | null) => boolean
  /**
   * The answer to `sent` was larger than `maxBytes`. Returns the event that ends a stream in place of the one that is too large; null: its
   * body ends with an error, as other bodies do.
   */
  readonly onTooLarge: (sent: string | null) => string | null
}

type Network = Pick<Http1ClientOptions, 'reach' | 'connect' | 'lookup'>
type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

/**
 * `fetch` for libraries that call addresses which somebody other than the operator chose: only to addresses within `reach`, without
 * redirects and within bounds. Errors are those of `Http1Client`.
 */
export class WebFetch {
  readonly #client: Http1Client
  readonly #deadlines: DeadlineClock

  constructor(clock: Clock, { onFault, ...network }: Network & { readonly onFault: (cause: unknown) => void }) {
    this.#deadlines = new DeadlineClock(clock)
    this.#deadlines.start(onFault)
    this.#client = new Http1Client({
      ...network,
      reach: network.reach ?? new UpstreamReach(),
      deadlines: this.#deadlines,
      maxConnections: MAX_CONNECTIONS,
    })
  }

  within(options: WebFetchOptions): Fetch {
    return (url, init = {}) => this.#call(new URL(url), init, options)
  }

  async close(): Promise<void> {
    await this.#client.close()
    this.#deadlines.stop()
  }

  #call(url: URL, init: RequestInit, options: WebFetchOptions): Promise<Response> {
    const { method = 'GET', body, signal } = init
    if (!isSendable(method)) throw new TypeError(`cannot send ${method}`)
    const bytes = typeof body === 'string' ? Buffer.from(body) : null
    const { publicOnly, connectMs, firstByteMs } = options
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(abortOf(signal))
        return
      }
      const sent = typeof body === 'string' ? body : null
      const bounds = {
        maxBytes: options.maxBytes,
        mayStream: () => options.mayStream(method, sent),
        tooLarge: () => options.onTooLarge(sent),
      }
      const answer = new Answer(bounds, resolve, reject, () => signal?.removeEventListener('abort', abort))
      const call = this.#client.send(
        {
          origin: url.origin,
          path: url.pathname + url.search,
          method,
          headers: [...new Headers(init.headers)].flat(),
          body: bytes,
          timeouts: { connectMs, firstByteMs, idleMs: DAY_MS, totalMs: DAY_MS },
          publicOnly,
          // A tool must not run twice.
          once: method !== 'GET',
        },
        answer,
      )
      const abort = (): void => {
        call.abort()
        answer.fail(abortOf(signal))
      }
      answer.call = call
      signal?.addEventListener('abort', abort, { once: true })
    })
  }
}

function isSendable(method: string): method is UpstreamRequest['method'] {
  return ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].includes(method)
}

function isEventStream(contentType: string | null): boolean {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() === 'text/event-stream'
}

interface Bounds {
  readonly maxBytes: number
  readonly mayStream: () => boolean
  readonly tooLarge: () => string | null
}

/** Turns an answer into a `Response` with a bounded body. Of a stream it passes whole events. */
class Answer {
  call: UpstreamCall | null = null
  readonly #bounds: Bounds
  readonly #resolve: (response: Response) => void
  readonly #reject: (cause: unknown) => void
  readonly #release: () => void
  #body: ReadableStreamDefaultController<Uint8Array> | null = null
  #isEvents = false
  /** Of the body, or of the event that is not over. */
  #bytes = 0
  /** The event that is not over. */
  #held: Buffer[] = []
  #lastByte = 0
  #isOver = false

  constructor(
    bounds: Bounds,
    resolve: (response: Response) => void,
    reject: (cause: unknown) => void,
    release: () => void,
  ) {
    this.#bounds = bounds
    this.#resolve = resolve
    this.#reject = reject
    this.#release = release
  }

  onHead(status: number, headers: UpstreamHeaders): void {
    if (status >= 300 && status < 400 && status !== 304) {
      this.#stop(
        new GatewayError('UPSTREAM_INVALID_ANSWER', { message: 'It answered with a redirect, which is refused.' }),
      )
      return
    }
    if (status < 200 || status > 599) {
      this.#stop(new GatewayError('UPSTREAM_INVALID_ANSWER'))
      return
    }
    const fields = new Headers()
    for (const [name, value] of Object.entries(headers)) {
      for (const one of Array.isArray(value) ? value : [value ?? '']) fields.append(name, one)
    }
    this.#isEvents = status === 200 && isEventStream(fields.get('content-type')) && this.#bounds.mayStream()
    const stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#body = controller
        },
        pull: () => {
          this.call?.resume()
        },
        cancel: () => {
          this.#end()
          this.call?.abort()
        },
      },
      { highWaterMark: 1 },
    )
    this.#resolve(new Response(BODILESS.has(status) ? null : stream, { status, headers: fields }))
  }

  onData(chunk: Buffer): void {
    if (this.#isOver) return
    const whole = this.#count(chunk)
    // The bytes are valid until this returns.
    if (whole > 0) this.#body?.enqueue(Buffer.concat([...this.#held, chunk.subarray(0, whole)]))
    if (whole > 0) this.#held = []
    if (this.#isTooLarge) {
      this.#tooLarge()
      return
    }
    if (whole < chunk.length) this.#held.push(Buffer.from(chunk.subarray(whole)))
    if ((this.#body?.desiredSize ?? 1) <= 0) this.call?.pause()
  }

  onEnd(): void {
    if (this.#isOver) return
    this.#end()
    if (this.#held.length > 0) this.#body?.enqueue(Buffer.concat(this.#held))
    this.#body?.close()
  }

  /** Only GET requests may be sent again: the others are for one connection. */
  onStale(): boolean {
    return true
  }

  onError(error: GatewayError): void {
    this.fail(error)
  }

  fail(cause: unknown): void {
    if (this.#isOver) return
    this.#end()
    if (this.#body === null) this.#reject(cause)
    else this.#body.error(cause)
  }

  #stop(error: GatewayError): void {
    this.call?.abort()
    this.fail(error)
  }

  #end(): void {
    this.#isOver = true
    this.#release()
  }

  get #isTooLarge(): boolean {
    return this.#bytes > this.#bounds.maxBytes
  }

  #tooLarge(): void {
    const instead = this.#bounds.tooLarge()
    if (instead === null || !this.#isEvents) {
      this.#stop(new GatewayError('UPSTREAM_BODY_TOO_LARGE', { message: 'Its answer is too large.' }))
      return
    }
    this.call?.abort()
    this.#end()
    this.#body?.enqueue(Buffer.from(instead))
    this.#body?.close()
  }

  /** Returns how many of the bytes may pass: up to the end of the last event, which is an empty line. */
  #count(chunk: Buffer): number {
    if (!this.#isEvents) {
      this.#bytes += chunk.length
      return this.#isTooLarge ? 0 : chunk.length
    }
    let whole = 0
    for (let at = 0; at < chunk.length && !this.#isTooLarge; at++) {
      const byte = chunk[at] ?? 0
      const isLineEnd = byte === LINE_FEED || byte === CARRIAGE_RETURN
      const wasLineEnd = this.#lastByte === LINE_FEED || this.#lastByte === CARRIAGE_RETURN
      const isOneEnd = byte === LINE_FEED && this.#lastByte === CARRIAGE_RETURN
      const endsEvent = isLineEnd && wasLineEnd && !isOneEnd
      this.#bytes += 1
      if (endsEvent && !this.#isTooLarge) {
        whole = at + 1
        this.#bytes = 0
      }
      this.#lastByte = byte
    }
    return whole
  }
}

function abortOf(signal: AbortSignal | null | undefined): Error {
  const reason: unknown = signal?.reason
  return reason instanceof Error ? reason : new DOMException('aborted', 'AbortError')
}
