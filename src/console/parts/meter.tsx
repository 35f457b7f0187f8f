import { Tooltip } from '@mantine/core'
import type { ReactNode } from 'react'
import type { ResultOf } from '../../client/index.ts'
import { percent } from '../format/numbers.ts'
import { date } from '../format/time.ts'
import { useZone } from '../shell/zone.tsx'
import { useWords } from '../words/index.ts'
import { Money, Nothing, useLocale, useMoney } from './values.tsx'
import classes from './meter.module.css'

export type Spend = ResultOf<'getKey'>['spend']

const NEAR = 0.8

interface SpendMeterProps {
  readonly spend: Spend
  /** Default: the currency of the installation. */
  readonly currency?: string | undefined
}

/** The spent part of a budget, as a bar and in words; without a budget, only the sum. */
export function SpendMeter({ spend, currency }: SpendMeterProps): ReactNode {
  const t = useWords('common')
  const locale = useLocale()
  const { money: shown, exactMoney } = useMoney(currency)
  const { zone } = useZone()
  if (spend === null) return <Nothing why={t('spend.hidden')} />
  const { limit, spent, held, resets_at: resetsAt } = spend
  if (limit === null) {
    return (
      <span title={t('spend.noLimit')}>
        <Money micro={spent} currency={currency} />
      </span>
    )
  }
  const share = limit === 0 ? 1 : spent / limit
  const lines = [
    t('spend.of', { spent: shown(spent), limit: exactMoney(limit), share: percent(share, locale) }),
    ...(held > 0 ? [t('spend.held', { held: shown(held) })] : []),
    ...(resetsAt === null ? [] : [t('spend.resets', { at: date(new Date(resetsAt), { locale, zone }) })]),
  ]
  const tone = share >= 1 ? 'bad' : share >= NEAR ? 'warn' : 'good'
  return (
    <Tooltip label={lines.join(' · ')}>
      <span className={classes.meter}>
        <span className={classes.text}>
          {shown(spent)} <span className="muted">/ {exactMoney(limit)}</span>
        </span>
        <span
          className={classes.track}
          role="meter"
          aria-label={t('spend.label')}
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={Math.round(Math.min(1, share) * 100)}
          aria-valuetext={lines.join(', ')}
        >
          <span className={classes.bar} data-tone={tone} style={{ width: `${Math.min(1, share) * 100}%` }} />
        </span>
      </span>
    </Tooltip>
  )
}
