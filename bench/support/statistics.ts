/** Two programs that are compared, or their measurements. */
export interface Pair<T> {
  readonly base: T
  readonly change: T
}

export type Side = keyof Pair<unknown>

export interface Spread {
  readonly count: number
  readonly min: number
  readonly lowerQuartile: number
  readonly median: number
  readonly upperQuartile: number
  readonly max: number
}

export interface Interval {
  readonly low: number
  readonly high: number
  /** Probability that such an interval contains the true median, from 0 to 1. */
  readonly confidence: number
}

/** One figure of two programs. */
export interface Comparison {
  /** Medians over all rounds. */
  readonly base: number
  readonly change: number
  /** change / base, a value for each round. */
  readonly ratio: Spread
  /** Confidence interval of the median ratio. */
  readonly interval: Interval
}

const CONFIDENCE = 0.95

/** The percentile at `share`, interpolated between neighbours. NaN without values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const at = share * (sorted.length - 1)
  const below = sorted[Math.floor(at)] ?? NaN
  const above = sorted[Math.ceil(at)] ?? NaN
  return below + (above - below) * (at - Math.floor(at))
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5)
}

/**
 * Compares a figure over rounds. Pairs of processes are independent, rounds of one pair are not: the interval is taken over the
 * medians of the pairs. A round in which a value is not above zero has no ratio and is left out.
 *
 * @param pairs the rounds of each pair of processes
 */
export function compareFigure(pairs: ReadonlyArray<ReadonlyArray<Pair<number>>>): Comparison {
  const rounds = pairs.flat()
  const ratios = pairs.map(ratiosOf).filter(({ length }) => length > 0)
  return {
    base: median(rounds.map(({ base }) => base)),
    change: median(rounds.map(({ change }) => change)),
    ratio: spreadOf(ratios.flat()),
    interval: medianInterval(ratios.map(median)),
  }
}

function ratiosOf(rounds: ReadonlyArray<Pair<number>>): number[] {
  return rounds.filter(({ base, change }) => base > 0 && change > 0).map(({ base, change }) => change / base)
}

export function spreadOf(values: readonly number[]): Spread {
  return {
    count: values.length,
    min: percentile(values, 0),
    lowerQuartile: percentile(values, 0.25),
    median: median(values),
    upperQuartile: percentile(values, 0.75),
    max: percentile(values, 1),
  }
}

/**
 * The interval of the sign test: from the k-th smallest to the k-th largest value, the narrowest that contains the median of any
 * distribution with the wanted confidence. Fewer than six values do not reach 95 %: the interval is then the whole range, with the
 * confidence of that range.
 */
export function medianInterval(values: readonly number[], wanted = CONFIDENCE): Interval {
  const sorted = [...values].sort((a, b) => a - b)
  const count = sorted.length
  let cut = 0
  while (confidenceOf(count, cut + 1) >= wanted) cut++
  return { low: sorted[cut] ?? NaN, high: sorted[count - 1 - cut] ?? NaN, confidence: confidenceOf(count, cut) }
}

/** Confidence of the interval that leaves out `cut` values at each end: the median is outside when all others are on one side of it. */
function confidenceOf(count: number, cut: number): number {
  let ways = 1
  let outside = 0
  for (let below = 0; below <= cut; below++) {
    outside += ways
    ways *= (count - below) / (below + 1)
  }
  return Math.max(0, 1 - 2 * (outside / 2 ** count))
}
