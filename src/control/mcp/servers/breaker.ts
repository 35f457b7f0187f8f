import { GatewayError } from '../../../shared/core/errors.ts'

const MOST_FAILURES = 3
const FIRST_MS = 1_000
const LONGEST_MS = 60_000

/** Keeps calls from a server that fails: after some failures in a row it lets one through at a time, after growing pauses. */
export class Breaker {
  #failures = 0
  #closedUntilMs = 0

  get isOpen(): boolean {
    return this.#failures >= MOST_FAILURES
  }

  /** Throws UPSTREAM_UNREACHABLE while the server is left alone. @param nowMs monotonic */
  enter(nowMs: number): void {
    if (!this.isOpen) return
    if (nowMs < this.#closedUntilMs) {
      const retryAfterSeconds = Math.max(1, Math.ceil((this.#closedUntilMs - nowMs) / 1000))
      throw new GatewayError('UPSTREAM_UNREACHABLE', {
        message: 'The tool server has failed several times: it is left alone for a while.',
        retryAfterSeconds,
      })
    }
    this.#pause(nowMs)
  }

  succeeded(): void {
    this.#failures = 0
  }

  /** @param nowMs monotonic */
  failed(nowMs: number): void {
    this.#failures += 1
    if (this.isOpen) this.#pause(nowMs)
  }

  #pause(nowMs: number): void {
    const ms = FIRST_MS * 2 ** Math.min(10, this.#failures - MOST_FAILURES)
    this.#closedUntilMs = nowMs + Math.min(LONGEST_MS, ms)
  }
}
