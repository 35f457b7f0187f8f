import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { duration, percent } from '../../format/numbers.ts'
import { Icon } from '../../parts/icons.tsx'
import { logRangeOf } from '../../parts/periods.ts'
import type { Period } from '../../parts/periods.ts'
import type { Latency, Usage } from '../../parts/usage.ts'
import { Count, Duration, Money, Nothing, useLocale } from '../../parts/values.tsx'
import { pathIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useZone } from '../../shell/zone.tsx'
import { useWords } from '../../words/index.ts'
import { logLink } from '../requests/log-link.ts'
import classes from './overview-page.module.css'

interface FiguresProps {
  readonly scope: Scope
  readonly period: Period
  readonly usage: Usage
  /** Of the period before; null while it is read. */
  readonly before: Usage | null
  readonly latency: Latency | null
}

/** The sums of the period, each against the period before, each a link to what it is made of. */
export function Figures({ scope, period, usage, before, latency }: FiguresProps): ReactNode {
  const t = useWords('overview')
  const locale = useLocale()
  const { now } = useZone()
  const { totals } = usage
  const was = before?.totals ?? null
  const log = logLink(scope, {}, logRangeOf(period, now))
  const statistics = (query: Readonly<Record<string, string>>): string =>
    `${pathIn(scope, '/statistics')}?${new URLSearchParams({ range: period, ...query }).toString()}`
  const tokens = (of: Usage['totals']): number => of.prompt_tokens + of.completion_tokens
  const rate = (of: Usage['totals']): number | null => (of.requests === 0 ? null : of.errors / of.requests)
  const errorRate = rate(totals)
  const split = (of: Latency['ttft_ms'] | undefined): ReactNode =>
    of?.p50 === null || of?.p50 === undefined ? (
      <Nothing why={t('noLatency')} />
    ) : (
      <>
        <Duration ms={of.p50} />
        <span className={classes.second}>
          {t('p95')} {of.p95 === null ? '—' : duration(of.p95, locale)}
        </span>
      </>
    )
  return (
    <ul className={classes.figures}>
      <Figure name={t('figures.requests')} href={log} now={totals.requests} before={was?.requests}>
        <Count value={totals.requests} isShort />
      </Figure>
      <Figure
        name={t('figures.errorRate')}
        href={statistics({ group: 'status', metric: 'errors' })}
        now={errorRate}
        before={was === null ? undefined : rate(was)}
        isShare
      >
        {errorRate === null ? <Nothing why={t('noRequests')} /> : percent(errorRate, locale)}
        <span className={classes.second}>{t('failed', { count: totals.errors })}</span>
      </Figure>
      <Figure name={t('figures.cost')} href={statistics({ metric: 'cost' })} now={totals.cost} before={was?.cost}>
        <Money micro={totals.cost} isShort />
      </Figure>
      <Figure
        name={t('figures.tokens')}
        href={statistics({ metric: 'tokens' })}
        now={tokens(totals)}
        before={was === null ? undefined : tokens(was)}
      >
        <Count value={tokens(totals)} isShort />
      </Figure>
      <Figure
        name={t('figures.ttft')}
        href={statistics({ metric: 'ttft' })}
        now={totals.mean_ttft_ms}
        before={was?.mean_ttft_ms}
        mean
      >
        {split(latency?.ttft_ms)}
      </Figure>
      <Figure
        name={t('figures.total')}
        href={statistics({ metric: 'total' })}
        now={totals.mean_total_ms}
        before={was?.mean_total_ms}
        mean
      >
        {split(latency?.total_ms)}
      </Figure>
    </ul>
  )
}

interface FigureProps {
  readonly name: string
  readonly href: string | null
  /** For the comparison. */
  readonly now: number | null
  /** Undefined: not read yet. */
  readonly before: number | null | undefined
  /** The numbers are shares of 1: their difference is told in points. */
  readonly isShare?: boolean
  /** The comparison is of means, not of the percentiles that are shown. */
  readonly mean?: boolean
  readonly children: ReactNode
}

function Figure({ name, href, now, before, isShare = false, mean = false, children }: FigureProps): ReactNode {
  return (
    <li className={classes.figure}>
      {href === null ? (
        <span className={classes.figureName}>{name}</span>
      ) : (
        <Link href={href} className={classes.figureLink}>
          {name}
        </Link>
      )}
      <span className={classes.figureValue}>{children}</span>
      <Change now={now} before={before} isShare={isShare} mean={mean} />
    </li>
  )
}

function Change({
  now,
  before,
  isShare,
  mean,
}: Pick<FigureProps, 'now' | 'before'> & { readonly isShare: boolean; readonly mean: boolean }): ReactNode {
  const t = useWords('overview')
  const locale = useLocale()
  if (before === undefined) return <span className={classes.change}>&nbsp;</span>
  if (before === null || now === null || (before === 0 && !isShare)) {
    return <span className={classes.change}>{t('change.none')}</span>
  }
  const by = isShare ? now - before : (now - before) / before
  const shown = isShare
    ? t('change.points', {
        value: new Intl.NumberFormat(locale, { maximumFractionDigits: 1 }).format(Math.abs(by) * 100),
      })
    : percent(Math.abs(by), locale)
  if (Math.abs(by) < 0.0005) return <span className={classes.change}>{t('change.same')}</span>
  return (
    <span className={classes.change}>
      <Icon name={by > 0 ? 'arrowUp' : 'arrowDown'} size={12} />
      <span>
        <span className="hidden">{by > 0 ? t('change.up') : t('change.down')}</span> {shown}{' '}
        {mean ? t('change.mean') : t('change.against')}
      </span>
    </span>
  )
}
