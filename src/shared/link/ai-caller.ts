import type { AiAnswer, AiRequest } from '../core/ai-request.ts'
import { GatewayError } from '../core/errors.ts'
import type { AiReply, AiRequestMessage } from './messages.ts'

interface Pending {
  readonly settle: { resolve: (answer: AiAnswer) => void; reject: (error: GatewayError) => void }
  readonly chunks: Buffer[]
  isOver: boolean
  failure: GatewayError | null
  wake: () => void
  /** Stops listening to the signal. */
  readonly release: () => void
}

/** The control process's end of its AI requests to one front. */
export class AiCaller {
  readonly #send: (message: AiRequestMessage) => void
  readonly #pending = new Map<number, Pending>()
  #lastId = 0

  constructor(send: (message: AiRequestMessage) => void) {
    this.#send = send
  }

  get inFlight(): number {
    return this.#pending.size
  }

  /** Rejects when the front breaks the request off before its answer, or when `signal` aborts. */
  request(request: AiRequest, signal: AbortSignal): Promise<AiAnswer> {
    if (signal.aborted) return Promise.reject(new GatewayError('CLIENT_CLOSED'))
    this.#lastId += 1
    const id = this.#lastId
    return new Promise((resolve, reject) => {
      const pending: Pending = {
        settle: { resolve, reject },
        chunks: [],
        isOver: false,
        failure: null,
        wake: () => undefined,
        release: () => {
          signal.removeEventListener('abort', leave)
        },
      }
      const leave = (): void => {
        if (this.#fail(id, new GatewayError('CLIENT_CLOSED'))) this.#send({ type: 'ai-cancel', id })
      }
      this.#pending.set(id, pending)
      signal.addEventListener('abort', leave, { once: true })
      this.#send({ type: 'ai-request', id, ...request })
    })
  }

  receive(reply: AiReply): void {
    const { id } = reply
    const pending = this.#pending.get(id)
    if (pending === undefined) return
    switch (reply.type) {
      case 'ai-response': {
        const headers = new Map(reply.headers.map(([name, value]) => [name.toLowerCase(), value]))
        pending.settle.resolve({
          status: reply.status,
          headers,
          body: this.#body(id, pending),
          report: (report) => {
            if (this.#pending.has(id)) this.#send({ type: 'ai-report', id, report })
          },
        })
        return
      }
      case 'ai-body':
        if (reply.bytes.byteLength > 0) pending.chunks.push(Buffer.from(reply.bytes))
        if (reply.last) {
          pending.isOver = true
          this.#pending.delete(id)
          pending.release()
        }
        pending.wake()
        return
      case 'ai-broken':
        this.#fail(id, brokenOff())
    }
  }

  /** The front is gone. */
  lost(): void {
    for (const id of [...this.#pending.keys()]) this.#fail(id, brokenOff())
  }

  /** @returns false when it was over before */
  #fail(id: number, failure: GatewayError): boolean {
    const pending = this.#pending.get(id)
    if (pending === undefined) return false
    this.#pending.delete(id)
    pending.failure = failure
    pending.release()
    pending.settle.reject(failure)
    pending.wake()
    return true
  }

  async *#body(id: number, pending: Pending): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        const chunk = pending.chunks.shift()
        if (chunk !== undefined) {
          if (!pending.isOver) this.#send({ type: 'ai-credit', id, bytes: chunk.length })
          yield chunk
        } else if (pending.failure !== null) throw pending.failure
        else if (pending.isOver) return
        else await new Promise<void>((resolve) => (pending.wake = resolve))
      }
    } finally {
      // The reader stopped before the end.
      if (this.#fail(id, new GatewayError('CLIENT_CLOSED'))) this.#send({ type: 'ai-cancel', id })
    }
  }
}

function brokenOff(): GatewayError {
  return new GatewayError('CONTROL_UNAVAILABLE', {
    message: 'The process that served the request ended. Try again.',
    retryAfterSeconds: 1,
  })
}
