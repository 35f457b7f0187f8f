import { ConnectionError, SluiceError, TimeoutError } from './errors.ts'

/** One attempt at a call: its signal ends it when time is up or the caller wants it no more. */
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

  /** From now on, and for each wait from now on. */
  limit(timeoutMs: number): void {
    this.#timeoutMs = timeoutMs
    this.rearm()
  }

  /** Something has come: the time begins anew. */
  rearm(): void {
    this.pause()
    this.#timer = setTimeout(() => {
      this.#timedOut = true
      this.#controller.abort()
    }, this.#timeoutMs)
  }

  /** Nothing is waited for at the moment. */
  pause(): void {
    clearTimeout(this.#timer)
  }

  /** Ends what is under way, if anything is. */
  end(): void {
    this.pause()
    this.#caller?.removeEventListener('abort', this.#onCallerAborts)
    this.#controller.abort()
  }

  /** What an exception of fetch or of a body means: the caller's reason, TimeoutError or ConnectionError. */
  meaningOf(cause: unknown): unknown {
    if (this.#caller?.aborted === true) return this.#caller.reason
    if (this.#timedOut) return new TimeoutError(`No answer within ${this.#timeoutMs} ms.`, { cause })
    if (cause instanceof SluiceError) return cause
    return new ConnectionError(`The connection failed: ${reasonOf(cause)}.`, { cause })
  }
}

/** Of Node's fetch, the cause says more than "fetch failed". */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  const inner: unknown = cause.cause
  return inner instanceof Error && inner.message !== '' ? inner.message : cause.message
}
