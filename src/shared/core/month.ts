/** A calendar month in a time zone. */
export interface Month {
  /** As in `2026-11`. */
  readonly name: string
  /** Unix milliseconds of its first instant, and of the first after it. */
  readonly startMs: number
  readonly endMs: number
}

const DAY_MS = 86_400_000

const formats = new Map<string, Intl.DateTimeFormat>()
const months = new Map<string, Month>()

/** The month of an instant in an IANA time zone; in UTC when the zone is not known. */
export function monthAt(timeZone: string, atMs: number): Month {
  const last = months.get(timeZone)
  if (last !== undefined && atMs >= last.startMs && atMs < last.endMs) return last
  const month = findMonth(formatOf(timeZone), atMs)
  months.set(timeZone, month)
  return month
}

export function isTimeZone(timeZone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  let format = formats.get(timeZone)
  if (format === undefined) {
    const known = isTimeZone(timeZone) ? timeZone : 'UTC'
    format = new Intl.DateTimeFormat('en', { timeZone: known, year: 'numeric', month: 'numeric' })
    formats.set(timeZone, format)
  }
  return format
}

function findMonth(format: Intl.DateTimeFormat, atMs: number): Month {
  const name = nameAt(format, atMs)
  // No month is longer than 31 days, and an hour more where clocks are set back in it.
  const before = firstInstant((ms) => nameAt(format, ms) === name, atMs - 32 * DAY_MS, atMs)
  const after = firstInstant((ms) => nameAt(format, ms) !== name, atMs, atMs + 32 * DAY_MS)
  return { name, startMs: before, endMs: after }
}

/** The first millisecond for which `holds` is true. It must stay true from there to the end of the range. */
export function firstInstant(holds: (ms: number) => boolean, fromMs: number, toMs: number): number {
  let low = Math.floor(fromMs)
  let high = Math.ceil(toMs)
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}

function nameAt(format: Intl.DateTimeFormat, ms: number): string {
  const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]))
  return `${(parts.get('year') ?? '').padStart(4, '0')}-${(parts.get('month') ?? '').padStart(2, '0')}`
}
