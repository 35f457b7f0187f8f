import type { Clock } from '../../shared/runtime/clock.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { LoginFailures } from './login-failures.ts'

/** Password hashes computed at the same time, and logins that may wait for their turn, and for how long. */
const RUNNING = 2
const WAITING = 100
const MAX_WAIT_MS = 10_000

interface Waiter {
  readonly enter: () => void
  readonly timer: NodeJS.Timeout
}

/** Limits how fast passwords are guessed, and how much work logins may make at once: hashing is a weapon otherwise. */
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
   * Runs `login` in its turn. Throws LOGIN_THROTTLED instead when this phone has failed too often from this address, and
   * likewise as `inTurn`.
   */
  async login<T>(phone: string, address: string, login: () => Promise<T>): Promise<T> {
    this.#check(phone, address)
    return this.inTurn(async () => {
      // Those that ran meanwhile may have been guesses at the same phone.
      this.#check(phone, address)
      try {
        const done = await login()
        this.#failures.clear(phone, address)
        return done
      } catch (cause) {
        if (cause instanceof GatewayError && cause.code === 'LOGIN_FAILED') this.#failures.add(phone, address)
        throw cause
      }
    })
  }

  /** Runs what hashes a password in its turn. Throws LOGIN_THROTTLED when too many wait, or its turn does not come in time. */
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
