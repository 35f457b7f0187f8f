import { withoutGroups } from './typed.ts'

const MICRO = 1_000_000
const MAX_CACHED = 32

const formats = new Map<string, Intl.NumberFormat>()

/** `Intl.NumberFormat` takes 50 µs to make. */
export function numberFormat(locale: string, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const name = `${locale} ${JSON.stringify(options)}`
  let format = formats.get(name)
  if (format === undefined) {
    format = new Intl.NumberFormat(locale, options)
    if (formats.size >= MAX_CACHED) formats.clear()
    formats.set(name, format)
  }
  return format
}

interface MoneyOptions {
  readonly locale: string
  readonly currency?: string
}

/**
 * Two decimals; below 0.01 as many as two significant digits need, so that a cost is never shown as nothing. Whole micro-units are
 * exact in a double up to nine thousand millions.
 */
export function money(micro: number, options: MoneyOptions): string {
  const isSmall = micro !== 0 && Math.abs(micro) < MICRO / 100
  const decimals = isSmall ? decimalsOf(micro) : 2
  return withDecimals(micro, decimals, decimals, options)
}

/** All six decimals that are not zero. */
export function exactMoney(micro: number, options: MoneyOptions): string {
  return withDecimals(micro, 2, 6, options)
}

/** For cards and charts: $1.2K. */
export function shortMoney(micro: number, options: MoneyOptions): string {
  if (Math.abs(micro) < 10_000 * MICRO) return money(micro, options)
  return numberFormat(options.locale, {
    style: 'currency',
    currency: options.currency ?? 'USD',
    currencyDisplay: 'narrowSymbol',
    notation: 'compact',
    maximumFractionDigits: 1,
  }).format(micro / MICRO)
}

/** A tick of an axis of amounts that are `step` micro-units apart: as many decimals as tell two ticks apart. */
export function axisMoney(micro: number, step: number, options: MoneyOptions): string {
  if (step >= MICRO / 100) return shortMoney(micro, options)
  const decimals = 6 - Math.floor(Math.log10(Math.max(1, step)))
  return withDecimals(micro, decimals, decimals, options)
}

function withDecimals(micro: number, least: number, most: number, { locale, currency = 'USD' }: MoneyOptions): string {
  return numberFormat(locale, {
    style: 'currency',
    currency,
    currencyDisplay: 'narrowSymbol',
    minimumFractionDigits: least,
    maximumFractionDigits: most,
  }).format(micro / MICRO)
}

function decimalsOf(micro: number): number {
  const first = Math.floor(Math.log10(Math.abs(micro)))
  // 420 micro-units are 0.00042: the second significant digit is the sixth decimal minus the rest.
  return Math.min(6, Math.max(2, 6 - first + 1))
}

/**
 * Reads an amount that a person typed, also with the sign or name of its currency before it. Null: it is no amount. Both "1,234.5" and
 * "1234.5" are read, never as a rounded number.
 */
export function microOf(text: string): number | null {
  const plain = withoutGroups(text.replace(/^[\p{Sc}\p{L}\s]+/u, ''))
  if (plain === null || !/^\d{1,10}(\.\d{0,6})?$/.test(plain)) return null
  const [whole = '0', decimals = ''] = plain.split('.')
  return Number(whole) * MICRO + Number(decimals.padEnd(6, '0'))
}

export type MoveKind = 'topup' | 'refund' | 'adjustment'

/** Reads an amount that is moved into a wallet, or below zero out of it. Only a correction may be typed with a minus. */
export function movedMicroOf(kind: MoveKind, text: string): number | null {
  const typed = text.trim()
  const isOut = typed.startsWith('-')
  const size = microOf(isOut ? typed.slice(1) : typed)
  if (size === null || size === 0 || (isOut && kind !== 'adjustment')) return null
  return isOut || kind === 'refund' ? -size : size
}

/** The amount as a person would type it. */
export function amountOf(micro: number): string {
  const whole = Math.floor(micro / MICRO)
  const rest = String(micro % MICRO)
    .padStart(6, '0')
    .replace(/0+$/, '')
  return rest === '' ? String(whole) : `${whole}.${rest.padEnd(2, '0')}`
}

/** "$" */
export function currencySign(currency: string, locale: string): string {
  const format = numberFormat(locale, { style: 'currency', currency, currencyDisplay: 'narrowSymbol' })
  return format.formatToParts(0).find(({ type }) => type === 'currency')?.value ?? currency
}
