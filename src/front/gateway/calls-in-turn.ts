import type { Clock } from '../../shared/runtime/clock.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { GrowingBody } from '../../shared/runtime/growing-body.ts'
import type {
  UpstreamCall,
  UpstreamClient,
  UpstreamHeaders,
  UpstreamListener,
  UpstreamRequest,
} from '../upstream/upstream-client.ts'

const OPEN = Buffer.from('[')
const COMMA = Buffer.from(',')
const CLOSE = Buffer.from(']')

export interface CallsOptions {
  readonly upstream: UpstreamClient
  /** The total timeout of each request bounds all of them together. */
  readonly requests: readonly UpstreamRequest[]
  readonly clock: Clock
  /** The most bytes of all answers together. */
  readonly maxBytes: number
}

/** Sends one or several upstream calls for one request. */
export function sendInTurn(options: CallsOptions, listener: UpstreamListener): UpstreamCall {
  const [only] = options.requests
  if (only !== undefined && options.requests.length === 1) return options.upstream.send(only, listener)
  const calls = new CallsInTurn(options, listener)
  calls.sendNext()
  return calls
}

/**
 * Makes several calls, one after the other, and presents them as one, whose answer is the array of their answers. The first
 * unsuccessful answer becomes the answer of all.
 */
class CallsInTurn implements UpstreamCall, UpstreamListener {
  readonly #options: CallsOptions
  readonly #listener: UpstreamListener
  readonly #body = new GrowingBody()
  readonly #startUs: number
  #sent = 0
  #headers: UpstreamHeaders = {}
  #call: UpstreamCall | null = null
  #hasFailed = false
  #isOver = false

  constructor(options: CallsOptions, listener: UpstreamListener) {
    this.#options = options
    this.#listener = listener
    this.#startUs = options.clock.monotonicUs()
    this.#body.append(OPEN)
  }

  sendNext(): void {
    const { upstream, requests, clock } = this.#options
    const request = requests[this.#sent]
    if (request === undefined) return
    this.#sent += 1
    const spentMs = (clock.monotonicUs() - this.#startUs) / 1000
    const timeouts = { ...request.timeouts, totalMs: Math.max(0, request.timeouts.totalMs - spentMs) }
    this.#call = upstream.send({ ...request, timeouts }, this)
  }

  pause(): void {
    this.#call?.pause()
  }

  resume(): void {
    this.#call?.resume()
  }

  progressed(): void {
    this.#call?.progressed()
  }

  abort(): void {
    this.#isOver = true
    this.#body.clear()
    this.#call?.abort()
  }

  onHead(status: number, headers: UpstreamHeaders): void {
    if (this.#isOver) return
    this.#headers = headers
    if (status === 200) return
    this.#hasFailed = true
    this.#listener.onHead(status, headers)
  }

  onData(chunk: Buffer): void {
    if (this.#isOver) return
    if (this.#hasFailed) {
      this.#listener.onData(chunk)
      return
    }
    this.#body.append(chunk)
    if (this.#body.length <= this.#options.maxBytes) return
    this.abort()
    this.#listener.onError(
      new GatewayError('UPSTREAM_INVALID_ANSWER', {
        detail: `the answers are larger than ${this.#options.maxBytes} bytes`,
      }),
    )
  }

  onEnd(): void {
    if (this.#isOver) return
    if (this.#hasFailed) {
      this.#isOver = true
      this.#listener.onEnd()
    } else if (this.#sent < this.#options.requests.length) {
      this.#body.append(COMMA)
      this.sendNext()
    } else this.#deliver()
  }

  onStale(error: GatewayError): boolean {
    return !this.#isOver && this.#listener.onStale?.(error) !== false
  }

  onError(error: GatewayError): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#listener.onError(error)
  }

  #deliver(): void {
    this.#listener.onHead(200, this.#headers)
    this.#body.append(CLOSE)
    const body = this.#body.take()
    if (!this.#aborted) this.#listener.onData(body)
    if (this.#aborted) return
    this.#isOver = true
    this.#listener.onEnd()
  }

  /** The listener may call `abort` from within its own callbacks. */
  get #aborted(): boolean {
    return this.#isOver
  }
}
