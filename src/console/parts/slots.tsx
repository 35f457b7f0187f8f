import type { ReactNode } from 'react'
import { exact, percent } from '../format/numbers.ts'
import { useWords } from '../words/index.ts'
import { useLocale } from './values.tsx'
import classes from './meter.module.css'

const NEAR = 0.8

/** Requests under way of those that may be, as a bar and in words. */
export function Slots({ used, of }: { readonly used: number; readonly of: number }): ReactNode {
  const t = useWords('common')
  const locale = useLocale()
  const share = of === 0 ? (used > 0 ? 1 : 0) : Math.min(1, used / of)
  const text = t('slots.of', { used: exact(used, locale), of: exact(of, locale), share: percent(share, locale) })
  return (
    <span
      className={classes.meter}
      title={`${text}. ${t('slots.free', { free: exact(Math.max(0, of - used), locale) })}`}
    >
      <span className={classes.text}>
        {exact(used, locale)} <span className="muted">/ {exact(of, locale)}</span>
      </span>
      <span
        className={classes.track}
        role="meter"
        aria-label={t('slots.label')}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(share * 100)}
        aria-valuetext={text}
      >
        {share > 0 && (
          <span
            className={classes.bar}
            data-tone={share >= 1 ? 'bad' : share >= NEAR ? 'warn' : 'good'}
            style={{ width: `${share * 100}%` }}
          />
        )}
      </span>
    </span>
  )
}
