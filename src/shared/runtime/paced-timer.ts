/**
 * A timer whose work says when it is due again, so that a process with nothing to watch does not wake. An error in the work ends
 * neither the timer nor the process: the next call comes after `everyMs`. The first error of each series goes to `onFault`.
 */
export class PacedTimer {
  readonly #everyMs: number
  readonly #work: () => number
  readonly #onFault: (cause: unknown) => void
  #timer: NodeJS.Timeout | undefined
  #dueMs: number
  #hasFailed = false
  #stopped = false

  /**
   * The first call comes after `everyMs`.
   *
   * @param work returns the milliseconds until its next call; Infinity: none before {@link within} asks for one
   */
  constructor(everyMs: number, work: () => number, onFault: (cause: unknown) => void) {
    this.#everyMs = everyMs
    this.#work = work
    this.#onFault = onFault
    this.#dueMs = performance.now() + everyMs
    this.#timer = setTimeout(this.#run, everyMs)
  }

  /** Brings the next call forward when it is due later than in `ms`. */
  within(ms: number): void {
    const dueMs = performance.now() + ms
    if (this.#stopped || dueMs >= this.#dueMs) return
    clearTimeout(this.#timer)
    this.#dueMs = dueMs
    this.#timer = setTimeout(this.#run, ms)
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  readonly #run = (): void => {
    this.#dueMs = Infinity
    let nextMs = this.#everyMs
    try {
      nextMs = this.#work()
      this.#hasFailed = false
    } catch (cause) {
      if (!this.#hasFailed) this.#onFault(cause)
      this.#hasFailed = true
    }
    if (nextMs < Infinity) this.within(nextMs)
  }
}
