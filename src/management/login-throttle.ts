import { LRUCache } from 'lru-cache'
import { GatewayError } from '../core/errors.ts'

const FAILURES = 10
const WINDOW_MS = 5 * 60_000
const SUBJECTS = 100_000
/** Password hashes computed at the same time, and logins that may wait for their turn. */
const RUNNING = 2
const WAITING = 100

/** Limits failures per subject, and how much work logins may make at once: hashing is a weapon otherwise. */
export class LoginThrottle {
  readonly #failures = new LRUCache<string, number>({ max: SUBJECTS, ttl: WINDOW_MS, noUpdateTTL: true })
  readonly #queue: Array<() => void> = []
  #running = 0

  /** Runs `login` in its turn. Throws LOGIN_THROTTLED instead when a subject has failed too often or the queue is full. */
  async run<T>(subjects: readonly string[], login: () => Promise<T>): Promise<T> {
    for (const subject of subjects) {
      if ((this.#failures.get(subject) ?? 0) >= FAILURES) {
        throw new GatewayError('LOGIN_THROTTLED', {
          retryAfterSeconds: this.#failures.getRemainingTTL(subject) / 1000,
        })
      }
    }
    await this.#turn()
    try {
      return await login()
    } catch (cause) {
      if (cause instanceof GatewayError && cause.code === 'LOGIN_FAILED') {
        for (const subject of subjects) this.#failures.set(subject, (this.#failures.get(subject) ?? 0) + 1)
      }
      throw cause
    } finally {
      this.#running -= 1
      this.#queue.shift()?.()
    }
  }

  async #turn(): Promise<void> {
    if (this.#running >= RUNNING) {
      if (this.#queue.length >= WAITING) throw new GatewayError('LOGIN_THROTTLED', { retryAfterSeconds: 1 })
      await new Promise<void>((resolve) => this.#queue.push(resolve))
    }
    this.#running += 1
  }
}
