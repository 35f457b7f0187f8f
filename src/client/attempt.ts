import { ConnectionError, SluiceError, TimeoutError } from './errors.ts'

/** One attempt at a call. Its signal aborts it at the timeout, or when the caller aborts. */
export class Attempt {
  readonly #controller = new AbortController()
  readonly #caller: AbortSignal | undefined
  readonly #onCallerAborts = (): void => {
    this.#controller.abort()
  }
  #timeoutMs: number
  #timer: ReturnType<typeof setTimeout> | undefined
  #timedOut = false

  constructor(timeoutMs: number, caller: AbortSignal | undefined) {
    this.#timeoutMs = timeoutMs
    this.#caller = caller
    caller?.addEventListener('abort', this.#onCallerAborts, { once: true })
    if (caller?.aborted === true) this.#controller.abort()
    this.rearm()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Sets the timeout of the current wait and of each later one. */
  limit(timeoutMs: number): void {
    this.#timeoutMs = timeoutMs
    this.rearm()
  }

  /** Restarts the timeout, after something has arrived. */
  rearm(): void {
    this.pause()
    this.#timer = setTimeout(() => {
      this.#timedOut = true
      this.#controller.abort()
    }, this.#timeoutMs)
  }

  /** Stops the timeout while nothing is awaited. */
  pause(): void {
    clearTimeout(this.#timer)
  }

  /** Aborts the request if it is still running. */
  end(): void {
    this.pause()
    this.#caller?.removeEventListener('abort', this.#onCallerAborts)
    this.#controller.abort()
  }

  /**
   * Maps an exception of fetch or of a body to the caller's abort reason, TimeoutError or ConnectionError. Keeps a
   * SluiceError.
   */
  meaningOf(cause: unknown): unknown {
    if (this.#caller?.aborted === true) return this.#caller.reason
    if (this.#timedOut) return new TimeoutError(`No answer within ${this.#timeoutMs} ms.`, { cause })
    if (cause instanceof SluiceError) return cause
    return new ConnectionError(`The connection failed: ${reasonOf(cause)}.`, { cause })
  }
}

/** Node's fetch says only "fetch failed"; its cause has the reason. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  const inner: unknown = cause.cause
  return inner instanceof Error && inner.message !== '' ? inner.message : cause.message
}
