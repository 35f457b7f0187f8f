import { Tooltip } from '@mantine/core'
import type { ReactNode } from 'react'
import { useCurrency } from '../shell/scope.ts'
import { useZone } from '../shell/zone.tsx'
import { localeOf, useLanguage } from '../words/index.ts'
import { axisMoney, exactMoney, money, shortMoney } from '../format/money.ts'
import { duration, exact, short } from '../format/numbers.ts'
import { instant, moment, relative } from '../format/time.ts'

export function useLocale(): string {
  return localeOf(useLanguage())
}

/** A value that does not exist; null is not 0. */
export function Nothing({ why }: { readonly why: string }): ReactNode {
  return (
    <Tooltip label={why}>
      <span className="muted" data-nothing>
        <span aria-hidden="true">—</span>
        <span className="hidden">{why}</span>
      </span>
    </Tooltip>
  )
}

/** Formats of money in the language of the page and, by default, the currency of the installation. */
export function useMoney(currency?: string): {
  readonly money: (micro: number) => string
  readonly exactMoney: (micro: number) => string
  readonly shortMoney: (micro: number) => string
  readonly axisMoney: (micro: number, step: number) => string
} {
  const locale = useLocale()
  const installed = useCurrency()
  const options = { locale, currency: currency ?? installed }
  return {
    money: (micro) => money(micro, options),
    exactMoney: (micro) => exactMoney(micro, options),
    shortMoney: (micro) => shortMoney(micro, options),
    axisMoney: (micro, step) => axisMoney(micro, step, options),
  }
}

interface MoneyProps {
  readonly micro: number
  /** Default: the currency of the installation. */
  readonly currency?: string | undefined
  readonly isShort?: boolean
}

export function Money({ micro, currency, isShort = false }: MoneyProps): ReactNode {
  const formats = useMoney(currency)
  const shown = isShort ? formats.shortMoney(micro) : formats.money(micro)
  const whole = formats.exactMoney(micro)
  return shown === whole ? (
    <span className="nowrap">{shown}</span>
  ) : (
    <span className="nowrap" title={whole}>
      {shown}
    </span>
  )
}

export function Count({ value, isShort = false }: { readonly value: number; readonly isShort?: boolean }): ReactNode {
  const locale = useLocale()
  const whole = exact(value, locale)
  const shown = isShort ? short(value, locale) : whole
  return shown === whole ? <>{shown}</> : <span title={whole}>{shown}</span>
}

export function Duration({ ms }: { readonly ms: number }): ReactNode {
  const locale = useLocale()
  return (
    <span className="nowrap" title={`${exact(ms, locale)} ms`}>
      {duration(ms, locale)}
    </span>
  )
}

interface TimeProps {
  /** ISO 8601. */
  readonly at: string
  /** "3 minutes ago" instead of the time. */
  readonly isRelative?: boolean
}

/** A time in the zone of the page, with the exact instant on hover. */
export function Time({ at, isRelative = false }: TimeProps): ReactNode {
  const locale = useLocale()
  const { zone, now } = useZone()
  const value = new Date(at)
  const shown = isRelative ? relative(value, { locale, now }) : moment(value, { locale, zone, now })
  return (
    <time dateTime={at} title={instant(value, { locale, zone })} className="nowrap">
      {shown}
    </time>
  )
}

/** A time that may be missing. */
export function TimeOr({
  at,
  why,
  isRelative = false,
}: {
  readonly at: string | null
  readonly why: string
  readonly isRelative?: boolean
}): ReactNode {
  return at === null ? <Nothing why={why} /> : <Time at={at} isRelative={isRelative} />
}
