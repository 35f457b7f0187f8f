import type { DeadlineClock } from '../runtime/deadlines.ts'
import { Deadline } from '../runtime/deadlines.ts'
import { GatewayError } from '../core/errors.ts'
import type { Exchange, IncomingRequest } from '../core/exchange.ts'
import { MAX_CALL_MS } from '../core/tool-call.ts'
import type { ControlToFront, FrontToControl } from './messages.ts'
import { CREDIT_BYTES, MAX_MANAGEMENT_BODY_BYTES } from './messages.ts'

/** Management requests that one front may have under way; a further one gets 429. */
const MAX_IN_FLIGHT = 256
/** Streams of events that one front may have besides, open or held; a further one is refused. Long requests count, too. */
const MAX_STREAMS = 2_048
/** Logins and registrations among them, so that a storm of logins leaves room for logged-in users; a further one gets 429. */
const MAX_LOGINS = 128
const LOGIN_PATHS: ReadonlySet<string> = new Set([
  '/api/auth/login',
  '/api/auth/register',
  '/api/auth/password/forgot',
  '/api/auth/password/reset',
  '/api/auth/oidc/start',
  '/api/auth/oidc/callback',
  '/api/auth/oidc/token',
])
/** A request fails when the control process sends nothing for it for this long, unless it may take longer. */
const SILENCE_MS = 60_000
/** Before the time of a call, its user may have to authorise the gateway, and the tools of its server may be listed. */
const CALL_SILENCE_MS = MAX_CALL_MS + 600_000
/** The method of a message that calls a tool. */
const CALL = 'tools/call'
const FRAME_BYTES = 65_536

/** A message of the control process about one tunnelled request. */
export type PassageReply = Extract<ControlToFront, { readonly type: 'response' | 'body' | 'credit' | 'cancel' }>

interface Passage {
  readonly id: number
  readonly requestId: string
  readonly exchange: Exchange
  readonly isLogin: boolean
  /** An answer that is a stream of events ends by itself. */
  readonly ends: boolean
  readonly silenceMs: number
  readonly deadline: Deadline
  /** The answer is a stream of events, which has no end of its own. */
  isEndless: boolean
  readonly refuse: (error: GatewayError) => void
  /** Waits for the control process to come back. */
  isHeld: boolean
  /** It has never been held and released. */
  isFirstHold: boolean
  /** Counts among the streams, not the requests, until it is closed: it was held, `isEndless`, or may take long. */
  takesStream: boolean
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
  #endsStreams = false
  #streams = 0
  #logins = 0

  constructor(send: (message: FrontToControl) => boolean, deadlines: DeadlineClock) {
    this.#send = send
    this.#deadlines = deadlines
  }

  get inFlight(): number {
    return this.#passages.size
  }

  /**
   * Sends a request to the control process. Calls `refuse` when that is not possible. A request for a stream of events waits for a
   * control process that restarts, and loses its connection when that takes too long: an `EventSource` comes back by itself after a
   * lost connection, and never after an error status.
   * @param lastsMs the request may take this long without a sign of life, and its answer ends by itself, also where it is a stream
   */
  async forward(
    exchange: Exchange,
    requestId: string,
    refuse: (error: GatewayError) => void,
    lastsMs: number | null = isToolCall(exchange.request) ? CALL_SILENCE_MS : null,
  ): Promise<void> {
    if (this.#passages.size - this.#streams >= MAX_IN_FLIGHT) {
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
      requestId,
      exchange,
      isLogin,
      ends: lastsMs !== null,
      silenceMs: lastsMs ?? SILENCE_MS,
      isEndless: false,
      isHeld: false,
      isFirstHold: true,
      takesStream: false,
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
    // Its body is here: it needs no place among the requests any more.
    if (passage.ends) this.#takeStream(passage)
    passage.deadline.atMs = this.#deadlines.nowMs + passage.silenceMs
    this.#deadlines.watch(passage.deadline)
    this.#ask(passage)
  }

  receive(message: PassageReply): void {
    const passage = this.#passages.get(message.id)
    if (passage === undefined) return
    passage.deadline.atMs = this.#deadlines.nowMs + passage.silenceMs
    const { response } = passage.exchange
    switch (message.type) {
      case 'response':
        if (this.#isEndless(passage, message) && !this.#beginStream(passage)) return
        response.onDrain(() => {
          this.#grant(passage)
        })
        response.start(message.status, message.headers)
        if (this.#endsStreams && passage.isEndless) this.#end(passage)
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

  /** Ends all streams of events, also those that begin from now on: they would hold the end of the process up. */
  endStreams(): void {
    this.#endsStreams = true
    for (const passage of [...this.#passages.values()]) {
      if (passage.isEndless) this.#end(passage)
      else if (passage.isHeld) this.#giveUp(passage)
    }
  }

  /** The connection is lost, and with it every request, but for streams of events that have not begun. */
  lost(): void {
    for (const passage of [...this.#passages.values()]) if (!passage.isHeld) this.#holdOrGiveUp(passage)
  }

  /** There is a connection: requests that were held are sent. */
  found(): void {
    for (const passage of [...this.#passages.values()]) {
      if (!passage.isHeld) continue
      // Once: a request that ends the control process must not be sent for ever.
      if (passage.isFirstHold) passage.deadline.atMs = this.#deadlines.nowMs + passage.silenceMs
      passage.isFirstHold = false
      this.#ask(passage)
    }
  }

  #ask(passage: Passage): void {
    const { id, requestId } = passage
    const { method, path, query, headers, address } = passage.exchange.request
    passage.isHeld = false
    if (this.#send({ type: 'request', id, requestId, method, path, query, headers: { ...headers }, address })) {
      this.#sendBody(passage)
    } else this.#holdOrGiveUp(passage)
  }

  #holdOrGiveUp(passage: Passage): void {
    if (!asksForEvents(passage) || hasBegun(passage) || this.#endsStreams || !this.#takeStream(passage)) {
      this.#giveUp(passage)
      return
    }
    // Its deadline is still watched, and its client may leave.
    passage.isHeld = true
    passage.restSent = false
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

  #isEndless({ ends }: Passage, { headers }: Extract<PassageReply, { type: 'response' }>): boolean {
    return !ends && headers.some(([name, value]) => isEventStream(name, value))
  }

  /** @returns false: there are too many streams, and this one is refused */
  #beginStream(passage: Passage): boolean {
    if (!this.#takeStream(passage)) {
      if (this.#close(passage)) this.#send({ type: 'cancel', id: passage.id })
      const message = 'Too many streams at the same time.'
      passage.refuse(new GatewayError('CONCURRENCY_EXCEEDED', { message, retryAfterSeconds: 5 }))
      return false
    }
    passage.isEndless = true
    return true
  }

  /** @returns false: there are too many streams */
  #takeStream(passage: Passage): boolean {
    if (passage.takesStream) return true
    if (this.#streams >= MAX_STREAMS) return false
    passage.takesStream = true
    this.#streams += 1
    return true
  }

  #end(passage: Passage): void {
    if (!this.#close(passage)) return
    this.#send({ type: 'cancel', id: passage.id })
    passage.exchange.response.end()
  }

  #giveUp(passage: Passage): void {
    if (!this.#close(passage)) return
    this.#send({ type: 'cancel', id: passage.id })
    if (hasBegun(passage) || asksForEvents(passage)) passage.exchange.response.destroy()
    else passage.refuse(new GatewayError('CONTROL_UNAVAILABLE', { retryAfterSeconds: 1 }))
  }

  /** @returns false when it was closed before */
  #close(passage: Passage): boolean {
    this.#deadlines.forget(passage.deadline)
    const wasOpen = this.#passages.delete(passage.id)
    if (wasOpen && passage.isLogin) this.#logins -= 1
    if (wasOpen && passage.takesStream) this.#streams -= 1
    return wasOpen
  }
}

/** A client calls a tool and may get no sign of life before the result. Revision 2026-07-28 requires the header. */
function isToolCall({ method, path, headers }: IncomingRequest): boolean {
  return method === 'POST' && (path.startsWith('/mcp/tools/') || (path === '/mcp' && headers['mcp-method'] === CALL))
}

function asksForEvents({ exchange: { request } }: Passage): boolean {
  return request.method === 'GET' && request.headers['accept']?.includes('text/event-stream') === true
}

/** The status of the answer is known. */
function hasBegun({ exchange, isEndless }: Passage): boolean {
  return isEndless || exchange.response.started
}

function isEventStream(name: string, value: string): boolean {
  return name.toLowerCase() === 'content-type' && value.startsWith('text/event-stream')
}
