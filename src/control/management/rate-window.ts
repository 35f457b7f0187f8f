import { LRUCache } from 'lru-cache'
import type { Clock } from '../../shared/runtime/clock.ts'

interface Window {
  readonly startMs: number
  readonly count: number
}

/** Allows each name a number of calls in a time. It forgets the names that were not used for the longest time. */
export class RateWindow {
  readonly #clock: Clock
  readonly #most: number
  readonly #lengthMs: number
  readonly #windows: LRUCache<string, Window>

  constructor(clock: Clock, limit: { readonly calls: number; readonly perMs: number; readonly names?: number }) {
    this.#clock = clock
    this.#most = limit.calls
    this.#lengthMs = limit.perMs
    this.#windows = new LRUCache({ max: limit.names ?? 100_000 })
  }

  /** Counts a call; returns 0 when it is allowed, otherwise the milliseconds until the next one is. */
  take(name: string): number {
    const waitMs = this.waitMs(name)
    if (waitMs > 0) return waitMs
    const { startMs, count } = this.#of(name)
    this.#windows.set(name, { startMs, count: count + 1 })
    return 0
  }

  waitMs(name: string): number {
    const { startMs, count } = this.#of(name)
    return count < this.#most ? 0 : startMs + this.#lengthMs - this.#clock.now()
  }

  #of(name: string): Window {
    const nowMs = this.#clock.now()
    const known = this.#windows.get(name)
    return known === undefined || nowMs - known.startMs >= this.#lengthMs ? { startMs: nowMs, count: 0 } : known
  }
}
