import { LRUCache } from 'lru-cache'
import { GatewayError } from '../core/errors.ts'

const FAILURES = 10
const WINDOW_MS = 5 * 60_000
const SUBJECTS = 100_000
/** Password hashes computed at the same time, and logins that may wait for their turn, and for how long. */
const RUNNING = 2
const WAITING = 100
const MAX_WAIT_MS = 10_000

interface Waiter {
  readonly enter: () => void
  readonly timer: NodeJS.Timeout
}

/** Limits failures per subject, and how much work logins may make at once: hashing is a weapon otherwise. */
export class LoginThrottle {
  readonly #failures = new LRUCache<string, number>({ max: SUBJECTS, ttl: WINDOW_MS, noUpdateTTL: true })
  readonly #waiters = new Set<Waiter>()
  readonly #maxWaitMs: number
  #running = 0

  constructor({ maxWaitMs = MAX_WAIT_MS }: { readonly maxWaitMs?: number } = {}) {
    this.#maxWaitMs = maxWaitMs
  }

  /**
   * Runs `login` in its turn. Throws LOGIN_THROTTLED instead when a subject has failed too often, when too many wait, or when
   * its turn does not come in time.
   */
  async run<T>(subjects: readonly string[], login: () => Promise<T>): Promise<T> {
    this.#check(subjects)
    await this.#turn()
    try {
      // Those that ran meanwhile may have been guesses at the same subject.
      this.#check(subjects)
      return await login()
    } catch (cause) {
      if (cause instanceof GatewayError && cause.code === 'LOGIN_FAILED') {
        for (const subject of subjects) this.#failures.set(subject, (this.#failures.get(subject) ?? 0) + 1)
      }
      throw cause
    } finally {
      this.#release()
    }
  }

  #check(subjects: readonly string[]): void {
    for (const subject of subjects) {
      if ((this.#failures.get(subject) ?? 0) < FAILURES) continue
      throw new GatewayError('LOGIN_THROTTLED', { retryAfterSeconds: this.#failures.getRemainingTTL(subject) / 1000 })
    }
  }

  async #turn(): Promise<void> {
    if (this.#running < RUNNING) {
      this.#running += 1
      return
    }
    if (this.#waiters.size >= WAITING) throw new GatewayError('LOGIN_THROTTLED', { retryAfterSeconds: 1 })
    await new Promise<void>((enter, reject) => {
      const timer = setTimeout(() => {
        this.#waiters.delete(waiter)
        reject(new GatewayError('LOGIN_THROTTLED', { retryAfterSeconds: 1 }))
      }, this.#maxWaitMs)
      const waiter: Waiter = { enter, timer }
      this.#waiters.add(waiter)
    })
  }

  /** The place goes to who waits longest: who comes at the same moment must not take it. */
  #release(): void {
    const [next] = this.#waiters
    if (next === undefined) {
      this.#running -= 1
      return
    }
    this.#waiters.delete(next)
    clearTimeout(next.timer)
    next.enter()
  }
}
