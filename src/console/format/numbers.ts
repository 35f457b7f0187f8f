import { numberFormat } from './money.ts'
import { withoutGroups } from './typed.ts'

export function exact(value: number, locale: string): string {
  return numberFormat(locale, { maximumFractionDigits: 0 }).format(value)
}

/** 1.2M; exact below ten thousand. */
export function short(value: number, locale: string): string {
  if (Math.abs(value) < 10_000) return exact(value, locale)
  return numberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 }).format(value)
}

/** A rate: below ten with two significant digits, so that little is not nothing. */
export function rate(value: number, locale: string): string {
  if (value === 0 || value >= 10) return short(Math.round(value), locale)
  return numberFormat(locale, { maximumSignificantDigits: 2 }).format(value)
}

/** Of a share from 0 to 1. Near 1 it has more digits and is rounded down: what is not all is never shown as 100%. */
export function percent(share: number, locale: string): string {
  const isNearAll = share > 0.9 && share < 1
  const digits = isNearAll ? (share > 0.99 ? 2 : 1) : share > 0 && share < 0.1 ? 1 : 0
  const scale = 10 ** (digits + 2)
  // 0.957 * 1000 may be a little less than 957.
  const shown = isNearAll ? Math.min(scale - 1, Math.floor(share * scale + 1e-6)) / scale : share
  return numberFormat(locale, { style: 'percent', maximumFractionDigits: digits }).format(shown)
}

/** A number of per cent that a person has set, with all its decimals. */
export function exactPercent(value: number, locale: string): string {
  return numberFormat(locale, { style: 'percent', maximumFractionDigits: 10 }).format(value / 100)
}

/** 0.4 ms, 850 ms, 12.4 s, 3 min 5 s, 2 h 5 min. */
export function duration(ms: number, locale: string): string {
  const unit = (value: number, name: string, digits = 0): string =>
    numberFormat(locale, { style: 'unit', unit: name, unitDisplay: 'short', maximumFractionDigits: digits }).format(
      value,
    )
  if (ms < 10) return unit(ms, 'millisecond', 1)
  if (Math.round(ms) < 1_000) return unit(Math.round(ms), 'millisecond')
  if (ms < 59_950) return unit(ms / 1_000, 'second', 1)
  const seconds = Math.round(ms / 1_000)
  if (seconds < 3_600)
    return joined(unit(Math.floor(seconds / 60), 'minute'), seconds % 60, (rest) => unit(rest, 'second'))
  const minutes = Math.round(seconds / 60)
  return joined(unit(Math.floor(minutes / 60), 'hour'), minutes % 60, (rest) => unit(rest, 'minute'))
}

function joined(first: string, rest: number, render: (rest: number) => string): string {
  return rest === 0 ? first : `${first} ${render(rest)}`
}

export function bytes(value: number, locale: string): string {
  const names = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const
  let at = 0
  let left = value
  while (left >= 1_000 && at < names.length - 1) {
    left /= 1_000
    at += 1
  }
  return numberFormat(locale, {
    style: 'unit',
    unit: names[at] ?? 'byte',
    // The short form of a byte has no plural.
    unitDisplay: at === 0 ? 'long' : 'short',
    maximumFractionDigits: at === 0 ? 0 : 1,
  }).format(left)
}

/** Reads a whole number that a person typed; null: it is none. */
export function countOf(text: string): number | null {
  const plain = withoutGroups(text)
  return plain !== null && /^\d{1,15}$/.test(plain) ? Number(plain) : null
}
