import type { DeadlineClock } from '../../shared/runtime/deadlines.ts'
import { Deadline } from '../../shared/runtime/deadlines.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Exchange, IncomingRequest } from '../../shared/core/exchange.ts'
import { GrowingBody } from '../../shared/runtime/growing-body.ts'
import { REWIND_MS } from './responder.ts'
import type { UwsResponder } from './responder.ts'
import type { HttpResponse } from './uws.ts'

export interface BodyLimits {
  readonly maxBytes: number
  readonly timeoutMs: number
}

/** A body of at least this size is received into reserved memory, so that it never exists twice. */
const LARGE_BYTES = 262_144
/** This share of a body must have arrived before memory for all of it is reserved: a Content-Length costs a client nothing. */
const RESERVE_SHARE = 0.25

/** Collects the body as it arrives. The route may ask for it at any time, or never. */
export class UwsExchange implements Exchange {
  readonly request: IncomingRequest
  readonly response: UwsResponder
  readonly #limits: BodyLimits
  readonly #deadlines: DeadlineClock
  /** Watched while the body arrives. */
  #deadline: Deadline | null = null
  readonly #body = new GrowingBody()
  #contentLength: number | null = null
  #hasReserved = false
  #timeoutAtMs = Infinity
  #complete = false
  #closed = false
  #failure: GatewayError | null = null
  #waiting: { resolve: (body: Buffer) => void; reject: (error: GatewayError) => void } | null = null

  constructor(request: IncomingRequest, response: UwsResponder, deadlines: DeadlineClock, limits: BodyLimits) {
    this.request = request
    this.response = response
    this.#limits = limits
    this.#deadlines = deadlines
  }

  /** Starts to collect the body. Without this call there is no body. */
  listen(res: HttpResponse, contentLength: number | null): void {
    if (contentLength !== null && contentLength > this.#limits.maxBytes) this.#fail(this.#tooLarge())
    this.#contentLength = contentLength
    res.onData((bytes, isLast) => {
      this.#take(bytes, isLast)
    })
    if (this.#complete) return
    this.#timeoutAtMs = this.#deadlines.nowMs + this.#limits.timeoutMs
    this.#watchDeadline()
  }

  readBody(): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#settle()
    })
  }

  /** Stops collecting: the connection is gone, or the answer is over. */
  close(): void {
    this.#closed = true
    this.#forgetDeadline()
    this.#body.clear()
    this.#settle()
  }

  #watchDeadline(): void {
    this.#deadline ??= new Deadline(() => {
      this.#deadlineReached()
    })
    this.#deadline.atMs = Math.min(this.#timeoutAtMs, this.#deadlines.nowMs + REWIND_MS)
    this.#deadlines.watch(this.#deadline)
  }

  #forgetDeadline(): void {
    if (this.#deadline !== null) this.#deadlines.forget(this.#deadline)
    this.#deadline = null
  }

  #deadlineReached(): void {
    if (this.#deadlines.nowMs >= this.#timeoutAtMs) {
      this.#fail(new GatewayError('BODY_TIMEOUT'))
      return
    }
    this.response.rewindServerTimer()
    this.#watchDeadline()
  }

  #take(bytes: ArrayBuffer, isLast: boolean): void {
    if (this.#failure !== null && isLast) this.response.bodyIsOver()
    if (this.#failure !== null || this.#closed) return
    if (this.#body.length + bytes.byteLength > this.#limits.maxBytes) {
      this.#complete = isLast
      this.#fail(this.#tooLarge())
      return
    }
    if (bytes.byteLength > 0) this.#keep(new Uint8Array(bytes))
    if (!isLast) return
    this.#complete = true
    this.#forgetDeadline()
    this.#settle()
  }

  /** Copies `bytes`: the server reuses its buffer when this returns. */
  #keep(bytes: Uint8Array): void {
    if (!this.#hasReserved && isWorthReserving(this.#contentLength, this.#body.length + bytes.length)) {
      this.#body.reserve(this.#contentLength)
      this.#hasReserved = true
    }
    this.#body.append(bytes)
  }

  #fail(failure: GatewayError): void {
    this.#failure ??= failure
    this.#body.clear()
    this.#forgetDeadline()
    // A proxy on the way may take the rest of the body for a next request.
    if (!this.#complete) this.response.closeAfterBody()
    this.#settle()
  }

  #settle(): void {
    if (this.#waiting === null) return
    const { resolve, reject } = this.#waiting
    // Created only when somebody waits: an error costs more than the rest of closing an exchange.
    if (this.#closed) this.#failure ??= new GatewayError('CLIENT_CLOSED')
    if (this.#failure !== null) {
      this.#waiting = null
      reject(this.#failure)
    } else if (this.#complete) {
      this.#waiting = null
      resolve(this.#body.take())
    }
  }

  #tooLarge(): GatewayError {
    return new GatewayError('BODY_TOO_LARGE', { message: `The body is larger than ${this.#limits.maxBytes} bytes.` })
  }
}

function isWorthReserving(contentLength: number | null, received: number): contentLength is number {
  return (
    contentLength !== null &&
    contentLength >= LARGE_BYTES &&
    received < contentLength &&
    received >= contentLength * RESERVE_SHARE
  )
}
