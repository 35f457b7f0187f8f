import { lazy, Suspense, useMemo } from 'react'
import type { ReactNode } from 'react'
import { duration, exact, short } from '../../format/numbers.ts'
import { BUCKET_MS, PERIODS } from '../../parts/periods.ts'
import type { Period } from '../../parts/periods.ts'
import { Failed } from '../../parts/states.tsx'
import type { Latency, Usage } from '../../parts/usage.ts'
import { useLocale, useMoney } from '../../parts/values.tsx'
import { useWords } from '../../words/index.ts'
import classes from './overview-page.module.css'

const HEIGHT = 180

/** Drawn by a library that the figures do not wait for. */
const SeriesChart = lazy(async () => ({ default: (await import('../../parts/series-chart.tsx')).SeriesChart }))

interface ChartsProps {
  readonly period: Period
  readonly usage: Usage
  readonly latency: Latency | null
  readonly latencyFailed: unknown
}

export function Charts({ period, usage, latency, latencyFailed }: ChartsProps): ReactNode {
  const t = useWords('overview')
  const locale = useLocale()
  const stepMs = BUCKET_MS[PERIODS[period].bucket]
  const times = useMemo(() => usage.series.map(({ time }) => Date.parse(time)), [usage])
  const [answered, failed, cost] = [t('charts.answered'), t('charts.failed'), t('figures.cost')]
  const requests = useMemo(
    () => [
      {
        name: answered,
        colour: 'accent' as const,
        values: usage.series.map((one) => Math.max(0, one.requests - one.errors)),
      },
      { name: failed, colour: 'bad' as const, values: usage.series.map(({ errors }) => errors) },
    ],
    [usage, answered, failed],
  )
  const costs = useMemo(
    () => [{ name: cost, colour: 'accent' as const, values: usage.series.map((one) => one.cost) }],
    [usage, cost],
  )
  const ends = { fromMs: Date.parse(usage.from), toMs: Date.parse(usage.to), stepMs, height: HEIGHT }
  const { shortMoney, axisMoney } = useMoney()
  return (
    <div className={classes.charts}>
      <Chart title={t('figures.requests')} height={HEIGHT}>
        <SeriesChart
          {...ends}
          times={times}
          series={requests}
          kind="bars"
          format={(value) => short(value, locale)}
          label={t('charts.requests', {
            requests: exact(usage.totals.requests, locale),
            errors: exact(usage.totals.errors, locale),
          })}
        />
      </Chart>
      <Chart title={cost} height={HEIGHT}>
        <SeriesChart
          {...ends}
          times={times}
          series={costs}
          kind="bars"
          format={(value) => shortMoney(Math.round(value))}
          formatTick={axisMoney}
          label={t('charts.cost', { cost: shortMoney(usage.totals.cost) })}
        />
      </Chart>
      {latencyFailed !== null && <Failed cause={latencyFailed} />}
      {latency !== null && latency.series.length > 0 && (
        <>
          <Percentiles title={t('figures.ttft')} latency={latency} of="ttft_ms" ends={ends} />
          <Percentiles title={t('figures.total')} latency={latency} of="total_ms" ends={ends} />
        </>
      )}
    </div>
  )
}

interface PercentilesProps {
  readonly title: string
  readonly latency: Latency
  readonly of: 'ttft_ms' | 'total_ms'
  readonly ends: { readonly fromMs: number; readonly toMs: number; readonly stepMs: number; readonly height: number }
}

function Percentiles({ title, latency, of, ends }: PercentilesProps): ReactNode {
  const t = useWords('overview')
  const locale = useLocale()
  const times = useMemo(() => latency.series.map(({ time }) => Date.parse(time)), [latency])
  const series = useMemo(
    () =>
      (
        [
          ['p50', 'group1'],
          ['p95', 'group4'],
          ['p99', 'group5'],
        ] as const
      ).map(([name, colour]) => ({ name, colour, values: latency.series.map((one) => one[of][name]) })),
    [latency, of],
  )
  const { p50, p95 } = latency[of]
  return (
    <Chart title={title} height={HEIGHT}>
      <SeriesChart
        {...ends}
        times={times}
        series={series}
        kind="lines"
        format={(value) => duration(value, locale)}
        label={t('charts.percentiles', {
          what: title,
          p50: p50 === null ? '—' : duration(p50, locale),
          p95: p95 === null ? '—' : duration(p95, locale),
        })}
      />
    </Chart>
  )
}

function Chart({
  title,
  height,
  children,
}: {
  readonly title: string
  readonly height: number
  readonly children: ReactNode
}): ReactNode {
  return (
    <section className={classes.panel}>
      <h2 className={classes.panelTitle}>{title}</h2>
      <Suspense fallback={<div style={{ height: height + 24 }} />}>{children}</Suspense>
    </section>
  )
}
