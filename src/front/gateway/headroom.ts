import type { Headroom } from '../../shared/core/deployment.ts'
import type { UpstreamHeaders } from '../upstream/upstream-client.ts'

/** The headers of one limit. */
interface LimitHeaders {
  readonly limit: string
  readonly remaining: string
  readonly reset: string
}

const LIMITS: readonly LimitHeaders[] = [
  ...['requests', 'tokens'].map((what) => ({
    limit: `x-ratelimit-limit-${what}`,
    remaining: `x-ratelimit-remaining-${what}`,
    reset: `x-ratelimit-reset-${what}`,
  })),
  ...['requests', 'tokens', 'input-tokens', 'output-tokens'].map((what) => ({
    limit: `anthropic-ratelimit-${what}-limit`,
    remaining: `anthropic-ratelimit-${what}-remaining`,
    reset: `anthropic-ratelimit-${what}-reset`,
  })),
]

const DURATION = /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?$/
/** `Date.parse` alone takes "-3" for a year. */
const RFC_3339 = /^\d{4}-\d\d-\d\dT/i
/** The units of the groups of `DURATION`. */
const UNITS_MS = [86_400_000, 3_600_000, 60_000, 1_000, 1]
/** A number from `EPOCH_SECONDS` on is a time in seconds, from `EPOCH_MS` on one in milliseconds; a smaller one is a duration. */
const EPOCH_SECONDS = 1_000_000_000
const EPOCH_MS = 1_000_000_000_000

/** The headroom of the key's scarcest limit, from the headers of an answer; null when they have none that can be read. */
export function readHeadroom(headers: UpstreamHeaders, nowMs: number): Headroom | null {
  let scarcest: Headroom | null = null
  for (const { limit, remaining, reset } of LIMITS) {
    const left = quantity(headers[remaining])
    const resetAtMs = left === null ? null : readReset(headers[reset], nowMs)
    if (left === null || resetAtMs === null) continue
    const whole = quantity(headers[limit])
    const share = left < 1 ? 0 : whole === null || whole <= 0 ? 1 : Math.min(1, left / whole)
    const isScarcer =
      scarcest === null || share < scarcest.left || (share === scarcest.left && resetAtMs > scarcest.resetAtMs)
    if (isScarcer) scarcest = { left: share, resetAtMs }
  }
  return scarcest
}

/** A duration (`6m0s`, `120ms`, `1.5`: seconds) or a time (RFC 3339, Unix seconds or milliseconds) as Unix milliseconds. */
function readReset(value: string | string[] | undefined, nowMs: number): number | null {
  const text = (Array.isArray(value) ? value[0] : value)?.trim()
  if (text === undefined || text === '') return null
  const number = Number(text)
  if (number >= EPOCH_MS) return number
  if (number >= EPOCH_SECONDS) return number * 1000
  if (number >= 0) return nowMs + number * 1000
  const durationMs = readDuration(text)
  if (durationMs !== null) return nowMs + durationMs
  const atMs = RFC_3339.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(atMs) ? null : atMs
}

/** Parsed durations by their text, milliseconds: services repeat the same few. */
const durations = new Map<string, number>()
const MAX_DURATIONS = 1_000
/** Longer texts are not cached: V8 may keep the whole head in memory for a slice of it. */
const LONGEST_REMEMBERED = 12

function readDuration(text: string): number | null {
  const known = durations.get(text)
  if (known !== undefined) return known
  const parts = DURATION.exec(text)
  if (parts === null) return null
  const amounts = parts.slice(1).map((part: string | undefined) => Number(part ?? 0))
  const durationMs = amounts.reduce((sum, amount, index) => sum + amount * (UNITS_MS[index] ?? 0), 0)
  if (text.length > LONGEST_REMEMBERED) return durationMs
  if (durations.size >= MAX_DURATIONS) durations.clear()
  durations.set(text, durationMs)
  return durationMs
}

function quantity(value: string | string[] | undefined): number | null {
  const text = Array.isArray(value) ? value[0] : value
  if (text === undefined || text.trim() === '') return null
  const number = Number(text)
  return Number.isFinite(number) ? number : null
}
