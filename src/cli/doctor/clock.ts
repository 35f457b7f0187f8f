import { failed, ok, skipped, warning } from './finding.ts'
import type { Finding } from './finding.ts'

const WARN_MS = 2_000
const FAIL_MS = 60_000

export interface ClockReading {
  readonly of: string
  /** How far that clock is ahead of ours. */
  readonly offsetMs: number
  /** How wrong that may be. */
  readonly exactMs: number
}

/** Budgets, tokens and signatures go by the clock; who else has one is asked. */
export function checkClock(readings: readonly ClockReading[]): Finding {
  const [first] = readings.toSorted((a, b) => a.exactMs - b.exactMs)
  if (first === undefined) return skipped('clock', 'there is nobody to compare it with')
  const offMs = Math.max(0, Math.abs(first.offsetMs) - first.exactMs)
  const says = `${(offMs / 1000).toFixed(1)} s ${first.offsetMs > 0 ? 'behind' : 'ahead of'} that of ${first.of}`
  const fix = 'let NTP set the clocks: timedatectl set-ntp true'
  if (offMs < WARN_MS) return ok('clock', `agrees with that of ${first.of}`)
  return offMs < FAIL_MS ? warning('clock', says, fix) : failed('clock', says, fix)
}
