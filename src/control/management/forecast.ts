import type { Month } from '../../shared/core/month.ts'

const DAY_MS = 86_400_000
/** The rate of the month before counts as much as so much time of this month. */
const PRIOR_MS = 7 * DAY_MS

export interface Spending {
  /** Micro-units that settled requests of this month, and of the month before, have cost. */
  readonly spent: number
  readonly spentBefore: number
  readonly month: Month
  readonly monthBefore: Month
  /** The time at which the spender was made, Unix milliseconds. */
  readonly sinceMs: number
  readonly nowMs: number
}

/**
 * Returns what the month will have cost at its end, in micro-units: what is spent, and the present rate for the time that is left.
 *
 * The rate is what was spent, divided by the time since the month began, or since the spender was made. The first days of a month tell
 * little, so the month before counts as well, like a week of this one at its own mean rate:
 * (spent + rate before × 7 days) ÷ (time + 7 days). It does not count when nothing was spent in it. A spender younger than a
 * day is taken to be a day old, and one that was there for less than a week of the month before brings only this time in.
 */
export function forecastOf({ spent, spentBefore, month, monthBefore, sinceMs, nowMs }: Spending): number {
  const elapsedMs = Math.max(0, nowMs - Math.max(month.startMs, sinceMs))
  const elapsedBeforeMs = monthBefore.endMs - Math.max(monthBefore.startMs, sinceMs)
  const hasPrior = spentBefore > 0 && elapsedBeforeMs > 0
  const priorMs = hasPrior ? Math.min(PRIOR_MS, elapsedBeforeMs) : 0
  const priorSpent = hasPrior ? (spentBefore / elapsedBeforeMs) * priorMs : 0
  const perMs = (spent + priorSpent) / Math.max(DAY_MS, elapsedMs + priorMs)
  const rest = perMs * Math.max(0, month.endMs - nowMs)
  return Math.min(Number.MAX_SAFE_INTEGER, Math.round(spent + rest))
}
