import type { Clock } from '../../shared/runtime/clock.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { LoginFailures } from './login-failures.ts'

/** Concurrency limit of password hashes, the most log-ins that wait, and how long each one waits. */
const RUNNING = 2
const WAITING = 100
const MAX_WAIT_MS = 10_000

const WRONG_GUESSES: ReadonlySet<string> = new Set(['LOGIN_FAILED', 'CODE_INVALID'])

interface Waiter {
  readonly enter: () => void
  readonly timer: NodeJS.Timeout
}

/** Limits the rate of password guesses, and the concurrent password hashes, which could otherwise overload the process. */
export class LoginThrottle {
  readonly #failures: LoginFailures
  readonly #waiters = new Set<Waiter>()
  readonly #maxWaitMs: number
  #running = 0

  constructor({ clock, maxWaitMs = MAX_WAIT_MS }: { readonly clock: Clock; readonly maxWaitMs?: number }) {
    this.#failures = new LoginFailures(clock)
    this.#maxWaitMs = maxWaitMs
  }

  /**
   * Runs `login` as `inTurn` does. Also throws LOGIN_THROTTLED when this phone number has failed too often from this address.
   */
  async login<T>(phone: string, address: string, login: () => Promise<T>): Promise<T> {
    this.#check(phone, address)
    return this.inTurn(async () => {
      // Log-ins that ran meanwhile may have been wrong guesses for the same phone number.
      this.#check(phone, address)
      try {
        const done = await login()
        this.#failures.clear(phone, address)
        return done
      } catch (cause) {
        if (cause instanceof GatewayError && WRONG_GUESSES.has(cause.code)) this.#failures.add(phone, address)
        throw cause
      }
    })
  }

  /** Runs `work`, which hashes a password, within the concurrency limit. Throws LOGIN_THROTTLED on a full queue or a long wait. */
  async inTurn<T>(work: () => Promise<T>): Promise<T> {
    await this.#turn()
    try {
      return await work()
    } finally {
      this.#release()
    }
  }

  #check(phone: string, address: string): void {
    const waitMs = this.#failures.waitMs(phone, address)
    if (waitMs > 0) throw new GatewayError('LOGIN_THROTTLED', { retryAfterSeconds: waitMs / 1000 })
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

  /** Hands the slot to the longest waiter, so that a caller who comes at the same moment cannot take it. */
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
