import { lazy, Suspense, useMemo } from 'react'
import type { ReactNode } from 'react'
import type { ResultOf } from '../../../client/index.ts'
import { exact, short } from '../../format/numbers.ts'
import type { Series } from '../../parts/series-chart.tsx'
import { useUsage } from '../../parts/usage.ts'
import { useLocale } from '../../parts/values.tsx'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { isCounted, queryOf } from './filter.ts'
import type { LogFilter } from './filter.ts'
import classes from './requests-page.module.css'

const HEIGHT = 88
const HOUR_MS = 3_600_000

/** Drawn by a library that the list does not wait for. */
const SeriesChart = lazy(async () => ({ default: (await import('../../parts/series-chart.tsx')).SeriesChart }))

const PERIODS = { '24h': ['24h', 'hour'], '7d': ['7d', 'hour'], '30d': ['30d', 'day'] } as const

interface HistogramProps {
  readonly scope: Scope
  readonly filter: LogFilter
  /** Moves when the list is refreshed. */
  readonly anchor: Date
  readonly onSelect: (from: Date, to: Date) => void
}

/** The filtered requests over time, from the sums of the gateway; nothing where it has no sums for the filter. */
export function Histogram(props: HistogramProps): ReactNode {
  const { range } = props.filter
  const isSummed = range === '24h' || range === '7d' || range === '30d'
  return isSummed && isCounted(props.filter) ? <Summed {...props} period={PERIODS[range]} /> : null
}

function Summed({
  scope,
  filter,
  anchor,
  onSelect,
  period: [period, granularity],
}: HistogramProps & { readonly period: (typeof PERIODS)[keyof typeof PERIODS] }): ReactNode {
  const t = useWords('requests')
  const { from: _, ...dimensions } = queryOf(filter, anchor)
  const query = { ...dimensions, period, granularity }
  const { data } = useUsage(scope, query, { keepsOld: true })
  // The height is kept free while the sums are on their way: the list below does not move.
  if (data !== undefined && data.totals.requests === 0) return null
  return (
    <div className={classes.chart} title={t('chart.zoom')}>
      {data !== undefined && (
        <Drawn usage={data} stepMs={granularity === 'hour' ? HOUR_MS : 24 * HOUR_MS} onSelect={onSelect} />
      )}
    </div>
  )
}

interface DrawnProps {
  readonly usage: ResultOf<'usage'>
  readonly stepMs: number
  readonly onSelect: (from: Date, to: Date) => void
}

function Drawn({ usage: { from, to, series, totals }, stepMs, onSelect }: DrawnProps): ReactNode {
  const t = useWords('requests')
  const locale = useLocale()
  const [answered, failed] = [t('chart.ok'), t('chart.failed')]
  const times = useMemo(() => series.map(({ time }) => Date.parse(time)), [series])
  const drawn = useMemo<readonly Series[]>(
    () => [
      {
        name: answered,
        colour: 'accent',
        values: series.map(({ requests, errors }) => Math.max(0, requests - errors)),
      },
      { name: failed, colour: 'bad', values: series.map(({ errors }) => errors) },
    ],
    [series, answered, failed],
  )
  return (
    <Suspense fallback={null}>
      <SeriesChart
        times={times}
        series={drawn}
        kind="bars"
        fromMs={Date.parse(from)}
        toMs={Date.parse(to)}
        stepMs={stepMs}
        format={(value) => short(value, locale)}
        isSmall
        height={HEIGHT}
        label={t('chart.label', { requests: exact(totals.requests, locale), errors: exact(totals.errors, locale) })}
        onSelect={onSelect}
      />
    </Suspense>
  )
}
