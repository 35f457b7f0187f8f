const MAX_CACHED = 64
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const formats = new Map<string, Intl.DateTimeFormat>()

export function dateFormat(locale: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const name = `${locale} ${JSON.stringify(options)}`
  let format = formats.get(name)
  if (format === undefined) {
    format = new Intl.DateTimeFormat(locale, options)
    if (formats.size >= MAX_CACHED) formats.clear()
    formats.set(name, format)
  }
  return format
}

interface In {
  readonly locale: string
  /** IANA name. */
  readonly zone: string
}

/** 2026-11-25 in the zone: for comparisons, never for people. */
export function dayIn(at: Date, zone: string): string {
  return dateFormat('en-CA', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' }).format(at)
}

/** For tables: the time of day for today, otherwise also the date, with the year where it is another one. */
export function moment(at: Date, { locale, zone, now }: In & { readonly now: Date }): string {
  const clock = dateFormat(locale, {
    timeZone: zone,
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  }).format(at)
  const [day, today] = [dayIn(at, zone), dayIn(now, zone)]
  if (day === today) return clock
  return `${date(at, { locale, zone, isYearShown: day.slice(0, 4) !== today.slice(0, 4) })}, ${clock}`
}

export function date(at: Date, { locale, zone, isYearShown = true }: In & { readonly isYearShown?: boolean }): string {
  return dateFormat(locale, {
    timeZone: zone,
    day: 'numeric',
    month: 'short',
    ...(isYearShown ? { year: 'numeric' } : {}),
  }).format(at)
}

/** For hovering: everything, with milliseconds and the zone. */
export function instant(at: Date, { locale, zone }: In): string {
  return dateFormat(locale, {
    timeZone: zone,
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    fractionalSecondDigits: 3,
    hourCycle: 'h23',
    timeZoneName: 'shortOffset',
  }).format(at)
}

const STEPS = [
  ['day', DAY_MS],
  ['hour', HOUR_MS],
  ['minute', MINUTE_MS],
  ['second', 1_000],
] as const

/** "3 minutes ago", "in 2 days". */
export function relative(at: Date, { locale, now }: { readonly locale: string; readonly now: Date }): string {
  const distance = at.getTime() - now.getTime()
  // The clock of a page stands still for up to a minute.
  const ms = distance > 0 && distance < MINUTE_MS ? 0 : distance
  const [unit, size] = STEPS.find(([, length]) => Math.abs(ms) >= length) ?? ['second', 1_000]
  return new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' }).format(Math.trunc(ms / size), unit)
}

/** The name of a zone with its offset now: "Asia/Shanghai (GMT+8)". */
export function zoneName(zone: string, at: Date): string {
  const offset = offsetName(zone, at)
  return zone === 'UTC' ? zone : `${zone} (${offset})`
}

/** GMT+8 */
export function offsetName(zone: string, at: Date): string {
  const part = dateFormat('en-GB', { timeZone: zone, timeZoneName: 'shortOffset' })
    .formatToParts(at)
    .find(({ type }) => type === 'timeZoneName')?.value
  return zone === 'UTC' ? zone : (part ?? zone)
}

/** The first moment after a day (2026-11-25) in a zone, also where clocks change on it. */
export function endOfDay(day: string, zone: string): Date {
  const midnight = Date.parse(`${day}T00:00:00Z`) + DAY_MS
  // The offset is that of the moment looked for: the first guess may be on the other side of a change of clocks.
  const guess = midnight - offsetMs(midnight, zone)
  return new Date(midnight - offsetMs(guess, zone))
}

function offsetMs(at: number, zone: string): number {
  const parts = dateFormat('en-GB', {
    timeZone: zone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  }).formatToParts(at)
  const part = (type: string): number => Number(parts.find((one) => one.type === type)?.value ?? 0)
  const shown = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'))
  return shown - Math.floor(at / 1_000) * 1_000
}
