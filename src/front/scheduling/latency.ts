const SHARE_OF_NEWEST = 0.2
/** The scheduler avoids a slow key and then measures nothing new, so the average expires. */
const STALE_MS = 60_000

/** Exponentially weighted average of the time to the head of an answer. */
export class Latency {
  #averageMs = 0
  #atMs = -Infinity

  add(waitMs: number, nowMs: number): void {
    const fresh = nowMs - this.#atMs <= STALE_MS
    this.#averageMs = fresh ? this.#averageMs + SHARE_OF_NEWEST * (waitMs - this.#averageMs) : waitMs
    this.#atMs = nowMs
  }

  /** Milliseconds; 0 when nothing recent is known. */
  at(nowMs: number): number {
    return nowMs - this.#atMs <= STALE_MS ? this.#averageMs : 0
  }
}
