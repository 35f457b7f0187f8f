import { firstInstant, isTimeZone } from './month.ts'

/** An instant as clocks in a time zone show it. */
export interface ZonedTime {
  /** As in `2026-11-25`. */
  readonly date: string
  /** 0: Sunday. */
  readonly weekday: number
  /** Minutes since midnight, 0 to 1439. */
  readonly minute: number
}

/** Hours of each day, as in `{ from: '22:00', to: '07:00' }`. `to` is exclusive. */
export interface DailyHours {
  readonly from: string
  readonly to: string
}

const HOUR_MS = 3_600_000
const STEP_MS = 900_000
/** Daily hours end within a day, and an hour more where clocks are set back. */
const LONGEST_MS = 26 * HOUR_MS

const formats = new Map<string, Intl.DateTimeFormat>()

/** The time in an IANA time zone; in UTC when the zone is not known. */
export function zonedTime(timeZone: string, atMs: number): ZonedTime {
  const parts = new Map(
    formatOf(timeZone)
      .formatToParts(atMs)
      .map(({ type, value }) => [type, value]),
  )
  const part = (name: Intl.DateTimeFormatPartTypes): string => parts.get(name) ?? ''
  const date = `${part('year').padStart(4, '0')}-${part('month')}-${part('day')}`
  return {
    date,
    weekday: new Date(`${date}T00:00:00Z`).getUTCDay(),
    minute: Number(part('hour')) * 60 + Number(part('minute')),
  }
}

/** The first instant of the day that contains `atMs`. */
export function startOfDay(timeZone: string, atMs: number): number {
  const { date } = zonedTime(timeZone, atMs)
  return firstInstant((ms) => zonedTime(timeZone, ms).date === date, atMs - LONGEST_MS, atMs)
}

export function isWithin({ from, to }: DailyHours, timeZone: string, atMs: number): boolean {
  const { minute } = zonedTime(timeZone, atMs)
  const [first, end] = [minuteOf(from), minuteOf(to)]
  return first < end ? minute >= first && minute < end : minute >= first || minute < end
}

/** The end of the hours that contain `atMs`; null when `atMs` is outside of them. */
export function endOfHours(hours: DailyHours, timeZone: string, atMs: number): number | null {
  if (!isWithin(hours, timeZone, atMs)) return null
  let insideMs = atMs
  while (insideMs - atMs < LONGEST_MS && isWithin(hours, timeZone, insideMs + STEP_MS)) insideMs += STEP_MS
  return firstInstant((ms) => !isWithin(hours, timeZone, ms), insideMs, insideMs + STEP_MS)
}

function minuteOf(time: string): number {
  const [hours, minutes] = time.split(':').map(Number)
  return (hours ?? 0) * 60 + (minutes ?? 0)
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  let format = formats.get(timeZone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en', {
      timeZone: isTimeZone(timeZone) ? timeZone : 'UTC',
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
    })
    formats.set(timeZone, format)
  }
  return format
}
