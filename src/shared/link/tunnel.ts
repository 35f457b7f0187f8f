import type { DeadlineClock } from '../runtime/deadlines.ts'
import { Deadline } from '../runtime/deadlines.ts'
import { GatewayError } from '../core/errors.ts'
import type { Exchange } from '../core/exchange.ts'
import type { ControlToFront, FrontToControl } from './messages.ts'
import { CREDIT_BYTES, MAX_MANAGEMENT_BODY_BYTES } from './messages.ts'

/** Management requests that one front may have under way; a further one gets 429. */
const MAX_IN_FLIGHT = 256
/** Logins and registrations among them, so that a storm of logins leaves room for logged-in users; a further one gets 429. */
const MAX_LOGINS = 128
const LOGIN_PATHS: ReadonlySet<string> = new Set(['/api/auth/login', '/api/auth/register'])
/** A request fails when the control process sends nothing for it for this long. */
const SILENCE_MS = 60_000
const FRAME_BYTES = 65_536

/** A message of the control process about one tunnelled request. */
export type PassageReply = Extract<ControlToFront, { readonly type: 'response' | 'body' | 'credit' | 'cancel' }>

interface Passage {
  readonly id: number
  readonly exchange: Exchange
  readonly isLogin: boolean
  readonly deadline: Deadline
  readonly refuse: (error: GatewayError) => void
  /** The part of the request's body that is not sent yet. */
  rest: Buffer
  restSent: boolean
  credit: number
  /** Bytes of the answer that the client has not taken yet: no credit was granted for them. */
  owed: number
}

/** Carries management requests to the control process and their answers back, within credits both ways. */
export class Tunnel {
  readonly #send: (message: FrontToControl) => boolean
  readonly #deadlines: DeadlineClock
  readonly #passages = new Map<number, Passage>()
  #lastId = 0
  #logins = 0

  constructor(send: (message: FrontToControl) => boolean, deadlines: DeadlineClock) {
    this.#send = send
    this.#deadlines = deadlines
  }

  get inFlight(): number {
    return this.#passages.size
  }

  /** Sends a request to the control process. Calls `refuse` when that is not possible. */
  async forward(exchange: Exchange, requestId: string, refuse: (error: GatewayError) => void): Promise<void> {
    if (this.#passages.size >= MAX_IN_FLIGHT) {
      refuse(
        new GatewayError('CONCURRENCY_EXCEEDED', {
          message: 'Too many management requests at the same time.',
          retryAfterSeconds: 1,
        }),
      )
      return
    }
    const { request } = exchange
    const isLogin = LOGIN_PATHS.has(request.path)
    if (isLogin && this.#logins >= MAX_LOGINS) {
      refuse(new GatewayError('LOGIN_THROTTLED', { retryAfterSeconds: 1 }))
      return
    }
    this.#lastId += 1
    const id = this.#lastId
    const passage: Passage = {
      id,
      exchange,
      isLogin,
      refuse,
      deadline: new Deadline(() => {
        this.#giveUp(passage)
      }),
      rest: Buffer.alloc(0),
      restSent: false,
      credit: CREDIT_BYTES,
      owed: 0,
    }
    // Registered before the body is read, so that the bound counts requests that are still arriving.
    this.#passages.set(id, passage)
    if (isLogin) this.#logins += 1
    exchange.response.onAbort(() => {
      if (this.#close(passage)) this.#send({ type: 'cancel', id })
    })
    try {
      if (['POST', 'PUT', 'PATCH'].includes(request.method)) passage.rest = await exchange.readBody()
      if (passage.rest.length > MAX_MANAGEMENT_BODY_BYTES) {
        const message = `The body is larger than ${MAX_MANAGEMENT_BODY_BYTES} bytes.`
        throw new GatewayError('BODY_TOO_LARGE', { message })
      }
    } catch (cause) {
      if (this.#close(passage)) refuse(GatewayError.from(cause))
      return
    }
    // `readBody` has a deadline of its own. The client may have left meanwhile.
    if (!this.#passages.has(id)) return
    passage.deadline.atMs = this.#deadlines.nowMs + SILENCE_MS
    this.#deadlines.watch(passage.deadline)
    const { method, path, query, headers, address } = request
    if (!this.#send({ type: 'request', id, requestId, method, path, query, headers: { ...headers }, address })) {
      this.#giveUp(passage)
      return
    }
    this.#sendBody(passage)
  }

  receive(message: PassageReply): void {
    const passage = this.#passages.get(message.id)
    if (passage === undefined) return
    passage.deadline.atMs = this.#deadlines.nowMs + SILENCE_MS
    const { response } = passage.exchange
    switch (message.type) {
      case 'response':
        response.onDrain(() => {
          this.#grant(passage)
        })
        response.start(message.status, message.headers)
        return
      case 'body': {
        const bytes = Buffer.from(message.bytes.buffer, message.bytes.byteOffset, message.bytes.byteLength)
        if (message.last) {
          this.#close(passage)
          response.end(bytes)
          return
        }
        passage.owed += bytes.length
        if (response.write(bytes)) this.#grant(passage)
        return
      }
      case 'credit':
        passage.credit += message.bytes
        this.#sendBody(passage)
        return
      case 'cancel':
        this.#giveUp(passage)
    }
  }

  /** The connection is lost, and with it every request. */
  lost(): void {
    for (const passage of [...this.#passages.values()]) this.#giveUp(passage)
  }

  #sendBody(passage: Passage): void {
    while (!passage.restSent && passage.credit > 0) {
      const bytes = passage.rest.subarray(0, Math.min(FRAME_BYTES, passage.credit))
      passage.rest = passage.rest.subarray(bytes.length)
      passage.credit -= bytes.length
      passage.restSent = passage.rest.length === 0
      this.#send({ type: 'body', id: passage.id, bytes, last: passage.restSent })
    }
  }

  #grant(passage: Passage): void {
    if (passage.owed === 0) return
    this.#send({ type: 'credit', id: passage.id, bytes: passage.owed })
    passage.owed = 0
  }

  #giveUp(passage: Passage): void {
    if (!this.#close(passage)) return
    this.#send({ type: 'cancel', id: passage.id })
    if (passage.exchange.response.started) passage.exchange.response.destroy()
    else passage.refuse(new GatewayError('CONTROL_UNAVAILABLE', { retryAfterSeconds: 1 }))
  }

  /** @returns false when it was closed before */
  #close(passage: Passage): boolean {
    this.#deadlines.forget(passage.deadline)
    const wasOpen = this.#passages.delete(passage.id)
    if (wasOpen && passage.isLogin) this.#logins -= 1
    return wasOpen
  }
}
