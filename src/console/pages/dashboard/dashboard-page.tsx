import { SegmentedControl } from '@mantine/core'
import { lazy, Suspense, useMemo } from 'react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { ResultOf } from '../../../client/index.ts'
import { useRead } from '../../api/queries.ts'
import { exact, percent, short } from '../../format/numbers.ts'
import { Figures } from '../../parts/figures.tsx'
import { Grid } from '../../parts/grid.tsx'
import { LoadStrip } from '../../parts/load-strip.tsx'
import { Page } from '../../parts/page.tsx'
import type { Series } from '../../parts/series-chart.tsx'
import { Empty, Failed } from '../../parts/states.tsx'
import { chosen, useUrlState } from '../../parts/url-state.ts'
import { useLoad } from '../../parts/use-load.ts'
import { Count, Duration, Money, Nothing, useLocale } from '../../parts/values.tsx'
import { pathIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useZone } from '../../shell/zone.tsx'
import { useWords } from '../../words/index.ts'
import type { PageProps } from '../page-props.ts'
import { Todo } from './todo.tsx'
import layout from '../../parts/layout.module.css'

const PERIODS = ['24h', '7d', '30d'] as const
const HOUR_MS = 3_600_000
const HEIGHT = 160
const EVERY_MS = 30_000

type Dashboard = ResultOf<'adminDashboard'>

/** Drawn by a library that the rest does not wait for. */
const SeriesChart = lazy(async () => ({ default: (await import('../../parts/series-chart.tsx')).SeriesChart }))

/** The platform at a glance: what needs somebody, the load now, and the sums of a period. */
export function DashboardPage({ scope }: PageProps): ReactNode {
  const t = useWords('dashboard')
  const url = useUrlState()
  const { zone } = useZone()
  const period = chosen(PERIODS, url.query.get('range'))
  const dashboard = useRead(
    'adminDashboard',
    { query: { period, time_zone: zone } },
    { keepsOld: true, everyMs: EVERY_MS },
  )
  const load = useLoad()
  return (
    <Page
      title={t('title')}
      about={t('aboutPage')}
      acts={
        <SegmentedControl
          aria-label={t('period')}
          value={period}
          data={PERIODS.map((value) => ({ value, label: t(`periods.${value}`) }))}
          onChange={(value) => {
            url.set({ range: value === PERIODS[0] ? null : value })
          }}
        />
      }
    >
      <Todo scope={scope} load={load} />
      <LoadStrip load={load} />
      {dashboard.data === undefined && dashboard.isError && (
        <Failed
          cause={dashboard.error}
          retry={() => {
            void dashboard.refetch()
          }}
        />
      )}
      {dashboard.data !== undefined && <Sums scope={scope} shown={dashboard.data} range={period} />}
    </Page>
  )
}

interface SumsProps {
  readonly scope: Scope
  readonly shown: Dashboard
  readonly range: string
}

function Sums({ scope, shown, range }: SumsProps): ReactNode {
  const t = useWords('dashboard')
  const locale = useLocale()
  const { totals, active } = shown
  const requests = `${pathIn(scope, '/requests')}?range=${range}`
  return (
    <>
      <Figures
        label={t('totals')}
        figures={[
          { name: t('requests'), value: <Count value={totals.requests} isShort />, href: requests },
          {
            name: t('errors'),
            value:
              totals.requests === 0 ? (
                <Nothing why={t('noRequests')} />
              ) : (
                percent(totals.errors / totals.requests, locale)
              ),
            note: t('errorsNote', { errors: exact(totals.errors, locale) }),
          },
          { name: t('cost'), value: <Money micro={totals.cost} isShort /> },
          {
            name: t('tokens'),
            value: <Count value={totals.prompt_tokens + totals.completion_tokens} isShort />,
          },
          {
            name: t('ttft'),
            value:
              totals.mean_ttft_ms === null ? <Nothing why={t('noRequests')} /> : <Duration ms={totals.mean_ttft_ms} />,
          },
          {
            name: t('enterprises'),
            value: <Count value={active.enterprises} isShort />,
            href: pathIn(scope, '/enterprises'),
          },
          { name: t('users'), value: <Count value={active.users} isShort />, href: pathIn(scope, '/users') },
          { name: t('keys'), value: <Count value={active.keys} isShort /> },
        ]}
      />
      {totals.requests === 0 ? (
        <Empty icon="dashboard" title={t('empty')} text={t('emptyAbout')}>
          <Link href={pathIn(scope, '/upstreams')}>{t('toUpstreams')}</Link>
        </Empty>
      ) : (
        <>
          <OverTime shown={shown} scope={scope} />
          <Tops scope={scope} shown={shown} range={range} />
        </>
      )}
    </>
  )
}

function OverTime({ shown: { series, from, to, granularity, totals } }: Omit<SumsProps, 'range'>): ReactNode {
  const t = useWords('dashboard')
  const locale = useLocale()
  const [answered, failed] = [t('chartOk'), t('chartFailed')]
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
    <section className={layout.block}>
      <h2 className={layout.title}>{t('overTime')}</h2>
      <Suspense fallback={<div style={{ height: HEIGHT }} />}>
        <SeriesChart
          times={times}
          series={drawn}
          kind="bars"
          fromMs={Date.parse(from)}
          toMs={Date.parse(to)}
          stepMs={granularity === 'hour' ? HOUR_MS : 24 * HOUR_MS}
          format={(value) => short(value, locale)}
          isSmall
          height={HEIGHT}
          label={t('chart', { requests: exact(totals.requests, locale), errors: exact(totals.errors, locale) })}
        />
      </Suspense>
    </section>
  )
}

function Tops({ scope, shown: { models, tenants, errors }, range }: SumsProps): ReactNode {
  const t = useWords('dashboard')
  const requests = pathIn(scope, '/requests')
  const sums = [
    { head: t('requests'), isNumber: true, cell: ({ requests: count }: Row) => <Count value={count} /> },
    { head: t('errors'), isNumber: true, cell: ({ errors: count }: Row) => <Count value={count} /> },
    { head: t('cost'), isNumber: true, cell: ({ cost }: Row) => <Money micro={cost} /> },
  ]
  return (
    <div className={layout.columns}>
      <section className={layout.block}>
        <h2 className={layout.title}>{t('topModels')}</h2>
        <Grid
          label={t('topModels')}
          rows={models}
          idOf={({ model }) => model ?? ''}
          columns={[
            {
              head: t('model'),
              cell: ({ model }) =>
                model === null ? (
                  <Nothing why={t('noModel')} />
                ) : (
                  <Link href={`${requests}?model=${encodeURIComponent(model)}&range=${range}`}>{model}</Link>
                ),
            },
            ...sums,
          ]}
        />
      </section>
      <section className={layout.block}>
        <h2 className={layout.title}>{t('topTenants')}</h2>
        <Grid
          label={t('topTenants')}
          rows={tenants}
          idOf={({ enterprise_id: id }) => id ?? ''}
          columns={[
            {
              head: t('tenant'),
              cell: ({ enterprise_id: id, name }) =>
                id === null ? (
                  t('ownKeys')
                ) : (
                  <Link href={`${pathIn(scope, '/enterprises')}/${encodeURIComponent(id)}`}>{name ?? id}</Link>
                ),
            },
            ...sums,
          ]}
        />
      </section>
      <section className={layout.block}>
        <h2 className={layout.title}>{t('failures')}</h2>
        {errors.length === 0 ? (
          <p className="muted">{t('noFailures')}</p>
        ) : (
          <Grid
            label={t('failures')}
            rows={errors}
            idOf={({ status }) => String(status ?? 0)}
            columns={[
              {
                head: t('status'),
                cell: ({ status }) => (
                  <Link href={`${requests}?status=${status ?? 0}&range=${range}`}>{status ?? t('interrupted')}</Link>
                ),
              },
              { head: t('requests'), isNumber: true, cell: ({ requests: count }) => <Count value={count} /> },
            ]}
          />
        )}
      </section>
    </div>
  )
}

type Row = Pick<Dashboard['totals'], 'requests' | 'errors' | 'cost'>
