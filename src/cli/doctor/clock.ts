import { failed, ok, skipped, warning } from './finding.ts'
import type { Finding } from './finding.ts'

const WARN_MS = 2_000
const FAIL_MS = 60_000

export interface ClockReading {
  readonly of: string
  /** How far that clock is ahead of the clock of this machine. */
  readonly offsetMs: number
  /** Largest error of `offsetMs`. */
  readonly exactMs: number
}

/** Compares this machine's clock, on which budgets, tokens and signatures depend, with the most exact reading. */
export function checkClock(readings: readonly ClockReading[]): Finding {
  const [first] = readings.toSorted((a, b) => a.exactMs - b.exactMs)
  if (first === undefined) return skipped('clock', 'no database server or upstream told the time to compare with')
  const offMs = Math.max(0, Math.abs(first.offsetMs) - first.exactMs)
  const says = `${(offMs / 1000).toFixed(1)} s ${first.offsetMs > 0 ? 'behind' : 'ahead of'} the clock of ${first.of}`
  const fix = 'synchronise the clocks with NTP: timedatectl set-ntp true'
  if (offMs < WARN_MS) return ok('clock', `agrees with the clock of ${first.of}`)
  return offMs < FAIL_MS ? warning('clock', says, fix) : failed('clock', says, fix)
}
