export interface AdaptiveLimitOptions {
  /** The limit stays at or above this, unless the `floor` of an update is lower. */
  readonly min: number
  readonly max: number
}

export interface LimitUpdate {
  readonly congested: boolean
  /** The most requests in flight since the last update. */
  readonly peakInFlight: number
  /** The least the limit may fall to now. */
  readonly floor: number
}

const SHRINK = 0.9
const GROW = 1.05
/** Congestion does not cut the limit below this share of the peak in flight: requests must end first. */
const LAG = 0.5
/** The limit grows faster while it holds no request back: it then says nothing about the next burst. */
const RECOVER = 1.1
/** The limit counts as holding requests back when the peak in flight reaches this share of it. */
const BINDING = 0.9

/**
 * The number of requests that may be in flight. It shrinks during congestion; without congestion it grows, slowly while it
 * is in use. Streams that last for minutes cannot drive it to the minimum.
 */
export class AdaptiveLimit {
  readonly #options: AdaptiveLimitOptions
  #value: number

  constructor(options: AdaptiveLimitOptions) {
    this.#options = options
    this.#value = options.max
  }

  get value(): number {
    return this.#value
  }

  /** Call it at a steady rate. */
  update({ congested, peakInFlight, floor }: LimitUpdate): void {
    const { min, max } = this.#options
    const least = Math.min(min, floor)
    if (congested) {
      const next = Math.max(Math.min(this.#value, peakInFlight) * SHRINK, peakInFlight * LAG)
      this.#value = Math.max(least, Math.floor(next))
    } else {
      const factor = peakInFlight >= this.#value * BINDING ? GROW : RECOVER
      this.#value = Math.min(max, Math.ceil(Math.max(this.#value, least) * factor) + 1)
    }
  }
}
