export interface AdaptiveLimitOptions {
  /** Never below, as long as `floor` of an update does not say so. */
  readonly min: number
  readonly max: number
}

export interface LimitUpdate {
  readonly congested: boolean
  /** The most that were under way since the last update. */
  readonly peakInFlight: number
  /** The least the limit may fall to now. */
  readonly floor: number
}

const SHRINK = 0.9
const GROW = 1.05
/** The limit waits for what is under way to come down before it goes below this share of it. */
const LAG = 0.5
/** While the limit binds nobody it is given up sooner: it says nothing about the next burst. */
const RECOVER = 1.1
/** From this share of the limit on it is what holds requests back. */
const BINDING = 0.9

/**
 * How many requests may be under way: fewer while there is congestion, carefully more while there is none and the limit is
 * in use. Streams that go on for minutes do not drive it to the ground.
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

  /** To be called at a steady pace. */
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
