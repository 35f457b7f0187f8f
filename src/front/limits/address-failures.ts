import { LRUCache } from 'lru-cache'
import { GatewayError } from '../../shared/core/errors.ts'
import { SlidingWindow } from '../../shared/runtime/sliding-window.ts'

/** Addresses remembered; the one seen longest ago is forgotten first. */
const MAX_ADDRESSES = 50_000

/** Bounds how often one address may fail to authenticate. Callers with a valid key behind the same address are not affected. */
export class AddressFailures {
  readonly #perMinute: number
  readonly #windows = new LRUCache<string, SlidingWindow>({ max: MAX_ADDRESSES })

  /** @param processes that share the bound: each has its part, so that all together keep it */
  constructor(perMinute: number, processes: number) {
    this.#perMinute = Math.max(1, Math.floor(perMinute / processes))
  }

  /** Whether the address has failed as often as it may. */
  isSpent(address: string, nowMs: number): boolean {
    return (this.#windows.get(address)?.used(nowMs) ?? 0) >= this.#perMinute
  }

  /** Counts a failure; gives the refusal to answer with instead of it when there have been too many. */
  record(address: string, nowMs: number): GatewayError | null {
    let window = this.#windows.get(address)
    if (window === undefined) {
      window = new SlidingWindow()
      this.#windows.set(address, window)
    }
    if (window.take(1, this.#perMinute, nowMs) !== null) return null
    return new GatewayError('RPM_EXCEEDED', {
      message: `Too many requests without a valid API key from this address; ${this.#perMinute} per minute are allowed.`,
      retryAfterSeconds: window.secondsUntil(1, this.#perMinute, nowMs),
    })
  }
}
