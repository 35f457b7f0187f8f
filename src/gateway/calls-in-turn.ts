import { GatewayError } from '../core/errors.ts'
import { GrowingBody } from '../core/growing-body.ts'
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

/** Sends what may be several calls for one request. @param maxBytes of all answers */
export function sendInTurn(
  upstream: UpstreamClient,
  requests: readonly UpstreamRequest[],
  listener: UpstreamListener,
  maxBytes: number,
): UpstreamCall {
  const [only] = requests
  if (only !== undefined && requests.length === 1) return upstream.send(only, listener)
  const calls = new CallsInTurn(upstream, requests, listener, maxBytes)
  calls.sendNext()
  return calls
}

/**
 * Several calls, one after the other, that look like one: its answer is the array of theirs. The first that is no success is
 * the answer of all.
 */
class CallsInTurn implements UpstreamCall, UpstreamListener {
  readonly #upstream: UpstreamClient
  readonly #requests: readonly UpstreamRequest[]
  readonly #listener: UpstreamListener
  readonly #maxBytes: number
  readonly #body = new GrowingBody()
  #sent = 0
  #headers: UpstreamHeaders = {}
  #call: UpstreamCall | null = null
  #hasFailed = false
  #isOver = false

  constructor(
    upstream: UpstreamClient,
    requests: readonly UpstreamRequest[],
    listener: UpstreamListener,
    maxBytes: number,
  ) {
    this.#upstream = upstream
    this.#requests = requests
    this.#listener = listener
    this.#maxBytes = maxBytes
    this.#body.append(OPEN)
  }

  sendNext(): void {
    const request = this.#requests[this.#sent]
    if (request === undefined) return
    this.#sent += 1
    this.#call = this.#upstream.send(request, this)
  }

  pause(): void {
    this.#call?.pause()
  }

  resume(): void {
    this.#call?.resume()
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
    if (this.#body.length <= this.#maxBytes) return
    this.abort()
    this.#listener.onError(new GatewayError('UPSTREAM_INVALID_ANSWER', { detail: 'too large' }))
  }

  onEnd(): void {
    if (this.#isOver) return
    if (this.#hasFailed) {
      this.#isOver = true
      this.#listener.onEnd()
    } else if (this.#sent < this.#requests.length) {
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

  /** The listener may hang up in the middle of what it hears. */
  get #aborted(): boolean {
    return this.#isOver
  }
}
