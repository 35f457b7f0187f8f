import { SegmentedControl } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { ResultOf } from '../../../client/index.ts'
import { useRead } from '../../api/queries.ts'
import { percent, rate } from '../../format/numbers.ts'
import { Figures } from '../../parts/figures.tsx'
import { Grid } from '../../parts/grid.tsx'
import { LoadStrip } from '../../parts/load-strip.tsx'
import { Page } from '../../parts/page.tsx'
import { Failed } from '../../parts/states.tsx'
import { TableSkeleton } from '../../parts/table.tsx'
import { chosen, useUrlState } from '../../parts/url-state.ts'
import { keyName, useLoad } from '../../parts/use-load.ts'
import { Count, Duration, Money, Nothing, useLocale } from '../../parts/values.tsx'
import { pathIn } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type { PageProps } from '../page-props.ts'
import { Journal } from './journal.tsx'
import layout from '../../parts/layout.module.css'

const TABS = ['performance', 'journal'] as const
const PERIODS = ['24h', '7d', '30d'] as const
const EVERY_MS = 15_000

type Relay = ResultOf<'adminRelayStats'>

/** Speed and success of the relay, and the way of records to the database. */
export function RelayPage({ scope }: PageProps): ReactNode {
  const t = useWords('relay')
  const url = useUrlState()
  const tab = chosen(TABS, url.query.get('tab'))
  const period = chosen(PERIODS, url.query.get('range'))
  return (
    <Page title={t('title')} about={t('aboutPage')}>
      <div className={layout.tools}>
        <SegmentedControl
          aria-label={t('tabs.label')}
          value={tab}
          data={TABS.map((value) => ({ value, label: t(`tabs.${value}`) }))}
          onChange={(value) => {
            url.set({ tab: value === TABS[0] ? null : value })
          }}
        />
        {tab === 'performance' && (
          <SegmentedControl
            aria-label={t('period')}
            value={period}
            data={PERIODS.map((value) => ({ value, label: t(`periods.${value}`) }))}
            onChange={(value) => {
              url.set({ range: value === PERIODS[0] ? null : value })
            }}
          />
        )}
      </div>
      {tab === 'performance' ? <Performance scope={scope} period={period} /> : <Journal />}
    </Page>
  )
}

interface PerformanceProps {
  readonly scope: PageProps['scope']
  readonly period: string
}

function Performance({ scope, period }: PerformanceProps): ReactNode {
  const t = useWords('relay')
  const common = useWords('common')
  const locale = useLocale()
  const load = useLoad()
  const relay = useRead('adminRelayStats', { query: { period } }, { keepsOld: true, everyMs: EVERY_MS })
  if (relay.data === undefined) {
    return relay.isError ? (
      <Failed
        cause={relay.error}
        retry={() => {
          void relay.refetch()
        }}
      />
    ) : (
      <TableSkeleton label={common('loading')} />
    )
  }
  const {
    requests,
    success_rate: success,
    rpm,
    tpm,
    overhead_ms: overhead,
    ttft_ms: ttft,
    total_ms: total,
  } = relay.data
  const times = [
    { id: 'overhead', values: overhead },
    { id: 'ttft', values: ttft },
    { id: 'total', values: total },
  ] as const
  return (
    <>
      <LoadStrip load={load} />
      <Figures
        label={t('sums')}
        figures={[
          { name: t('requests'), value: <Count value={requests} isShort /> },
          {
            name: t('success'),
            value: success === null ? <Nothing why={t('noRequests')} /> : percent(success, locale),
            note: t('successNote'),
          },
          { name: t('rpm'), value: rate(rpm, locale), note: t('onAverage') },
          { name: t('tpm'), value: rate(tpm, locale), note: t('onAverage') },
        ]}
      />
      <section className={layout.block}>
        <h2 className={layout.title}>{t('times')}</h2>
        <Grid
          label={t('times')}
          rows={times}
          idOf={({ id }) => id}
          columns={[
            {
              head: t('part'),
              cell: ({ id }) => <span title={t(`partsAbout.${id}`)}>{t(`parts.${id}`)}</span>,
            },
            ...(['p50', 'p95', 'p99'] as const).map((name) => ({
              head: t(`percentiles.${name}`),
              isNumber: true,
              cell: ({ values }: (typeof times)[number]) => <Taken ms={values[name]} />,
            })),
          ]}
        />
      </section>
      <section className={layout.block}>
        <h2 className={layout.title}>{t('keys')}</h2>
        {relay.data.upstream_keys.length === 0 ? (
          <p className="muted">{t('noKeys')}</p>
        ) : (
          <Grid
            label={t('keys')}
            rows={relay.data.upstream_keys}
            idOf={keyName}
            columns={[
              {
                head: t('upstream'),
                cell: ({ provider_id: id }) => (
                  <Link href={`${pathIn(scope, '/upstreams')}/${encodeURIComponent(id)}`}>{id}</Link>
                ),
              },
              { head: t('key'), cell: ({ upstream_key_id: id }) => id },
              ...columnsOf(t),
              {
                head: t('success'),
                isNumber: true,
                cell: ({ success_rate: share }: Key) =>
                  share === null ? <Nothing why={t('noRequests')} /> : percent(share, locale),
              },
            ]}
          />
        )}
      </section>
    </>
  )
}

type Key = Relay['upstream_keys'][number]

function columnsOf(t: ReturnType<typeof useWords<'relay'>>) {
  return [
    { head: t('requests'), isNumber: true, cell: ({ requests }: Key) => <Count value={requests} /> },
    { head: t('errors'), isNumber: true, cell: ({ errors }: Key) => <Count value={errors} /> },
    { head: t('aborted'), isNumber: true, cell: ({ aborted }: Key) => <Count value={aborted} /> },
    { head: t('parts.ttft'), isNumber: true, cell: ({ mean_ttft_ms: ms }: Key) => <Taken ms={ms} /> },
    { head: t('parts.total'), isNumber: true, cell: ({ mean_total_ms: ms }: Key) => <Taken ms={ms} /> },
    {
      head: t('tokens'),
      isNumber: true,
      cell: ({ prompt_tokens: prompt, completion_tokens: completion }: Key) => (
        <Count value={prompt + completion} isShort />
      ),
    },
    { head: t('cost'), isNumber: true, cell: ({ cost }: Key) => <Money micro={cost} /> },
  ]
}

function Taken({ ms }: { readonly ms: number | null }): ReactNode {
  const t = useWords('relay')
  return ms === null ? <Nothing why={t('noRequests')} /> : <Duration ms={ms} />
}
