import { GatewayError } from '../../shared/core/errors.ts'

export type CalendarUnit = 'day' | 'week' | 'month'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** No time zone is further from UTC. */
const FURTHEST_MS = 15 * HOUR_MS
/** 1970-01-05 was a Monday. */
const FIRST_MONDAY_MS = 4 * DAY_MS

/** Throws INVALID_FIELD with the name, for an unknown time zone. */
export function checkTimeZone(name: string | undefined): void {
  if (name === undefined) return
  try {
    Intl.DateTimeFormat('en', { timeZone: name })
  } catch (cause) {
    throw new GatewayError('INVALID_FIELD', {
      message: `There is no time zone ${JSON.stringify(name)}: time_zone must be an IANA name, like Europe/Berlin.`,
      param: '/time_zone',
      cause,
    })
  }
}

/**
 * Returns the first instants of the days, weeks (from Monday) or months of a time zone that the range [fromMs, toMs) touches. The
 * first one may be before the range.
 */
export function startsOf(timeZone: string, unit: CalendarUnit, fromMs: number, toMs: number): number[] {
  const wallClock = wallClockOf(timeZone)
  const starts: number[] = []
  let dateMs = firstDate(unit, wallClock(fromMs))
  for (;;) {
    const startMs = instantOf(dateMs, wallClock)
    if (starts.length > 0 && startMs >= toMs) return starts
    starts.push(startMs)
    dateMs = nextDate(unit, dateMs)
  }
}

/** The local time of an instant, as the Unix time at which UTC has the same time of day. */
type WallClock = (ms: number) => number

function wallClockOf(timeZone: string): WallClock {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  return (ms) => {
    const second = Math.floor(ms / 1000) * 1000
    const parts = new Map(format.formatToParts(second).map(({ type, value }) => [type, Number(value)]))
    const of = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0
    return Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second')) + ms - second
  }
}

/** The first instant at which the clocks show this date. */
function instantOf(dateMs: number, wallClock: WallClock): number {
  const isReached = (ms: number): boolean => wallClock(ms) >= dateMs
  const near = dateMs - (wallClock(dateMs) - dateMs)
  const guess = dateMs - (wallClock(near) - near)
  if (isReached(guess) && !isReached(guess - 1)) return guess
  // The clocks are set forward at midnight, or near it.
  let low = dateMs - FURTHEST_MS
  let high = dateMs + FURTHEST_MS
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (isReached(middle)) high = middle
    else low = middle + 1
  }
  return low
}

/** The first date of the unit that has the date, as the Unix time of its midnight in UTC. */
function firstDate(unit: CalendarUnit, ms: number): number {
  const dayMs = Math.floor(ms / DAY_MS) * DAY_MS
  if (unit === 'day') return dayMs
  if (unit === 'week') return dayMs - (((((dayMs - FIRST_MONDAY_MS) / DAY_MS) % 7) + 7) % 7) * DAY_MS
  const date = new Date(dayMs)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth())
}

function nextDate(unit: CalendarUnit, dateMs: number): number {
  if (unit !== 'month') return dateMs + (unit === 'day' ? DAY_MS : 7 * DAY_MS)
  const date = new Date(dateMs)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
}
