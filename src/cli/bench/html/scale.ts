/** Maps values to shares of an axis, 0 to 1, and names its ticks. */
export interface Scale {
  readonly place: (value: number) => number
  readonly ticks: readonly number[]
}

/** A logarithmic axis in whole decades around the values. Values below the first tick stand at 0. */
export function logScale(values: readonly number[]): Scale {
  const positive = values.filter((value) => value > 0)
  const low = Math.floor(Math.log10(Math.min(...positive, 1)))
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...positive, 1)) - 1e-9))
  const first = Math.max(low, high - 6)
  return {
    place: (value) => clamp((Math.log10(Math.max(value, 1e-9)) - first) / (high - first)),
    ticks: Array.from({ length: high - first + 1 }, (_, index) => 10 ** (first + index)),
  }
}

/** An axis from 0 with three to six ticks at round values. */
export function linearScale(largest: number): Scale {
  const step = roundStep(largest > 0 ? largest : 1)
  const count = Math.max(1, Math.ceil((largest > 0 ? largest : 1) / step))
  return {
    place: (value) => clamp(value / (step * count)),
    ticks: Array.from({ length: count + 1 }, (_, index) => index * step),
  }
}

/** An axis from 0 to exactly `end`, with ticks at round values. */
export function timeScale(end: number): Scale {
  const step = roundStep(end)
  return {
    place: (value) => clamp(value / end),
    ticks: Array.from({ length: Math.floor(end / step) + 1 }, (_, index) => index * step),
  }
}

/** The axis of percentiles: the nearer to 1, the more room. */
export const TAIL_SCALE: Scale = {
  place: (share) => clamp(share >= 0.9999 ? 1 : -Math.log10(1 - share) / 3.6),
  ticks: [0.5, 0.9, 0.99, 0.999],
}

function roundStep(largest: number): number {
  const rough = largest / 4
  const decade = 10 ** Math.floor(Math.log10(rough))
  const factor = rough / decade
  return (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 2.5 ? 2.5 : factor <= 5 ? 5 : 10) * decade
}

function clamp(share: number): number {
  return Math.min(1, Math.max(0, share))
}
