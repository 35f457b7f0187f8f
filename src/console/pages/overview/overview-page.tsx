import { Button } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { Link, Redirect } from 'wouter'
import { remembered } from '../../api/preferences.ts'
import { useRead } from '../../api/queries.ts'
import { Badge } from '../../parts/badge.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Page } from '../../parts/page.tsx'
import { PeriodChoice } from '../../parts/period-choice.tsx'
import { periodOf, PERIODS } from '../../parts/periods.ts'
import { Empty, Failed } from '../../parts/states.tsx'
import { TableSkeleton } from '../../parts/table.tsx'
import { useUrlState } from '../../parts/url-state.ts'
import { useLatency, useUsage } from '../../parts/usage.ts'
import { mayIn, pathIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useZone } from '../../shell/zone.tsx'
import { useWords } from '../../words/index.ts'
import type { PageProps } from '../page-props.ts'
import { Attention } from './attention.tsx'
import { Charts } from './charts.tsx'
import { Figures } from './figures.tsx'
import { Latest } from './latest.tsx'
import { PlatformNow } from './platform-now.tsx'
import { TopGroups } from './top-groups.tsx'
import { useFreshness } from './use-freshness.ts'
import classes from './overview-page.module.css'

/** The groups that a scope is looked at by. */
const GROUPS = {
  own: ['model', 'key', 'endpoint', 'status'],
  enterprise: ['model', 'key', 'department', 'status'],
  platform: ['model', 'enterprise', 'key', 'status'],
} as const satisfies Record<Scope['kind'], readonly string[]>

export function OverviewPage({ scope }: PageProps): ReactNode {
  const t = useWords('overview')
  const common = useWords('common')
  const url = useUrlState()
  const { zone } = useZone()
  const period = periodOf(url.query.get('range'))
  const isLogged = mayIn(scope, 'logs.read')
  const live = useFreshness(scope, isLogged)
  const asked = { period, granularity: PERIODS[period].bucket, time_zone: zone }
  const usage = useUsage(scope, asked, { keepsOld: true, everyMs: live.everyMs })
  const before = useUsage(
    scope,
    { period, granularity: 'month', ...(usage.data === undefined ? {} : { to: usage.data.from }) },
    { isEnabled: usage.data !== undefined, keepsOld: true, staleMs: 300_000 },
  )
  // Percentiles come from the rows of the log, which a month at most is read of.
  const hasLatency = period !== '90d'
  const latency = useLatency(scope, asked, { keepsOld: true, isEnabled: hasLatency, everyMs: live.everyMs })
  const isNew = useIsNew(scope, usage.data?.totals.requests)
  if (isNew && remembered('first-steps') !== 'skipped') {
    return <Redirect to={pathIn(scope, '/first-steps')} replace />
  }
  const isEmpty = usage.data?.totals.requests === 0
  return (
    <Page
      title={t('title')}
      about={t(`about.${scope.kind}`)}
      acts={
        <>
          {live.isLive && (
            <Badge tone="good" icon="live" title={t('liveAbout')}>
              {t('live')}
            </Badge>
          )}
          <PeriodChoice
            value={period}
            onChange={(chosen) => {
              url.set({ range: chosen === '24h' ? null : chosen })
            }}
          />
        </>
      }
    >
      <Attention scope={scope} period={period} usage={usage.data} load={live.load} />
      {scope.kind === 'platform' && <PlatformNow scope={scope} load={live.load} />}
      {usage.data === undefined && usage.isError && (
        <Failed
          cause={usage.error}
          retry={() => {
            void usage.refetch()
          }}
        />
      )}
      {usage.data === undefined && usage.isPending && <TableSkeleton label={common('loading')} />}
      {isEmpty && (
        <Empty
          icon="chart"
          title={t('empty', { period: common(`period.${period}`) })}
          text={t(scope.kind === 'platform' ? 'emptyAboutPlatform' : 'emptyAbout')}
        >
          {scope.kind === 'platform' && <Link href={pathIn(scope, '/upstreams')}>{t('toUpstreams')}</Link>}
          {scope.kind !== 'platform' && mayIn(scope, 'keys.manage') && (
            <Button component={Link} href={pathIn(scope, '/first-steps')}>
              {t('firstSteps')}
            </Button>
          )}
        </Empty>
      )}
      {usage.data !== undefined && !isEmpty && (
        <div className={classes.content} data-old={usage.isPlaceholderData || undefined}>
          <Figures
            scope={scope}
            period={period}
            usage={usage.data}
            before={before.data ?? null}
            latency={hasLatency ? (latency.data ?? null) : null}
          />
          <Charts
            period={period}
            usage={usage.data}
            latency={hasLatency ? (latency.data ?? null) : null}
            latencyFailed={hasLatency && latency.isError ? latency.error : null}
          />
          <div className={classes.groups}>
            {GROUPS[scope.kind].map((group) => (
              <TopGroups key={group} scope={scope} period={period} groupBy={group} everyMs={live.everyMs} />
            ))}
          </div>
          {isLogged && <Latest scope={scope} rows={live.rows} />}
        </div>
      )}
      <span className={classes.end}>
        <Icon name="clock" size={12} />
        {t('zone', { zone: usage.data?.time_zone ?? zone })}
      </span>
    </Page>
  )
}

/** Whether a person has neither keys nor requests. */
function useIsNew(scope: Scope, requests: number | undefined): boolean {
  const [isAsked] = useState(() => remembered('first-steps') !== 'skipped')
  const keys = useRead(
    'listKeys',
    { query: { limit: 1 } },
    { isEnabled: scope.kind === 'own' && requests === 0 && isAsked },
  )
  return scope.kind === 'own' && requests === 0 && keys.data?.total === 0
}
