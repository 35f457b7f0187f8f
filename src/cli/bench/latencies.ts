import { createHistogram } from 'node:perf_hooks'

/** The longest time that is told apart: an hour. */
const LONGEST_US = 3_600_000_000
const SHARES = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999] as const

/** Milliseconds at shares of all values. */
export interface LatencySummary {
  readonly count: number
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly p999: number
  readonly max: number
  /** Share (0 to 1) and milliseconds, ascending, for a plot. */
  readonly curve: ReadonlyArray<readonly [share: number, ms: number]>
}

/** Counts times in bounded memory, with three significant digits. */
export class Latencies {
  readonly #histogram = createHistogram({ lowest: 1, highest: LONGEST_US, figures: 3 })

  static of(valuesMs: Iterable<number>): Latencies {
    const latencies = new Latencies()
    for (const valueMs of valuesMs) latencies.add(valueMs)
    return latencies
  }

  /** Counts a time; one below a microsecond, or before its due time, counts as a microsecond. */
  add(ms: number): void {
    this.#histogram.record(Math.min(LONGEST_US, Math.max(1, Math.round(ms * 1000))))
  }

  get count(): number {
    return this.#histogram.count
  }

  /** NaN without values. */
  at(share: number): number {
    return this.count === 0 ? NaN : millisecondsOf(this.#histogram.percentile(share * 100))
  }

  /** Returns null without values. */
  summary(): LatencySummary | null {
    if (this.count === 0) return null
    const max = millisecondsOf(this.#histogram.max)
    return {
      count: this.count,
      p50: this.at(0.5),
      p90: this.at(0.9),
      p99: this.at(0.99),
      p999: this.at(0.999),
      max,
      curve: [
        ...SHARES.filter((share) => isMeasured(this, share)).map((share) => [share, this.#atLeast(share)] as const),
        [1, max] as const,
      ],
    }
  }

  #atLeast(share: number): number {
    return share === 0 ? millisecondsOf(this.#histogram.min) : this.at(share)
  }
}

/** Whether at least one value is above this share of them: a percentile beyond is the longest value, and no measurement. */
export function isMeasured({ count }: { readonly count: number }, share: number): boolean {
  // Of 100 values, floating-point numbers have a little less than one above 0.99.
  return Math.round((1 - share) * count * 1000) >= 1000
}

function millisecondsOf(us: number): number {
  return Math.round(us) / 1000
}
