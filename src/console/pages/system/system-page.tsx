import { SegmentedControl } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { ApiError } from '../../../client/index.ts'
import { useRead } from '../../api/queries.ts'
import { readHealth, readReadiness } from '../../api/session.ts'
import { exact } from '../../format/numbers.ts'
import { Badge } from '../../parts/badge.tsx'
import type { Tone } from '../../parts/badge.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Grid } from '../../parts/grid.tsx'
import type { IconName } from '../../parts/icons.tsx'
import { Page } from '../../parts/page.tsx'
import { Failed } from '../../parts/states.tsx'
import { chosen, useUrlState } from '../../parts/url-state.ts'
import { Count, Duration, Nothing, Time, useLocale } from '../../parts/values.tsx'
import { pathIn } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type { PageProps } from '../page-props.ts'
import { Settings } from './settings.tsx'
import layout from '../../parts/layout.module.css'

const EVERY_MS = 10_000

const TABS = ['health', 'settings'] as const

/** Version and health of this installation, and all its settings with the place that each comes from. */
export function SystemPage({ scope }: PageProps): ReactNode {
  const t = useWords('system')
  const url = useUrlState()
  const tab = chosen(TABS, url.query.get('tab'))
  return (
    <Page title={t('title')} about={t('aboutPage')}>
      <div className={layout.tools}>
        <SegmentedControl
          aria-label={t('tabs.label')}
          value={tab}
          data={TABS.map((value) => ({ value, label: t(`tabs.${value}`) }))}
          onChange={(value) => {
            url.set({ tab: value === TABS[0] ? null : value, show: null, search: null })
          }}
        />
      </div>
      {tab === 'health' ? <Condition scope={scope} /> : <Settings scope={scope} />}
    </Page>
  )
}

function Condition({ scope }: Pick<PageProps, 'scope'>): ReactNode {
  const t = useWords('system')
  return (
    <div className={layout.columns}>
      <section className={layout.block}>
        <h2 className={layout.title}>{t('health')}</h2>
        <Health />
      </section>
      <section className={layout.block}>
        <h2 className={layout.title}>{t('parts')}</h2>
        <Readiness />
      </section>
      <section className={layout.block}>
        <h2 className={layout.title}>{t('installation')}</h2>
        <Installation />
      </section>
      <section className={layout.block}>
        <h2 className={layout.title}>{t('elsewhere')}</h2>
        <p className={layout.note}>{t('elsewhereAbout')}</p>
        <ul style={{ margin: 0, paddingLeft: 18 }}>
          {(['upstreams', 'models', 'enterprises', 'relay'] as const).map((page) => (
            <li key={page}>
              <Link href={pathIn(scope, `/${page}`)}>{t(`links.${page}`)}</Link>
            </li>
          ))}
          <li>
            <a href="/docs" target="_blank" rel="noreferrer">
              {t('links.docs')}
            </a>
          </li>
        </ul>
      </section>
    </div>
  )
}

const HEALTH = {
  healthy: ['good', 'check'],
  degraded: ['warn', 'alert'],
  unhealthy: ['bad', 'alert'],
} as const satisfies Record<string, readonly [Tone, IconName]>

function Health(): ReactNode {
  const t = useWords('system')
  const health = useQuery({
    queryKey: ['health'],
    queryFn: ({ signal }) => readHealth(signal),
    refetchInterval: EVERY_MS,
  })
  if (health.data === undefined) {
    if (!health.isError) return null
    if (isUnavailable(health.error)) {
      return (
        <Badge tone="bad" icon="alert">
          {t('states.unhealthy')}
        </Badge>
      )
    }
    return (
      <Failed
        cause={health.error}
        retry={() => {
          void health.refetch()
        }}
      />
    )
  }
  const { status, reasons = [], available_keys: keys, total_concurrency: slots, cache_hit_rate: hits } = health.data
  const [tone, icon] = HEALTH[status]
  return (
    <>
      <Facts
        rows={[
          [
            t('state'),
            <Badge key="state" tone={tone} icon={icon}>
              {t(`states.${status}`)}
            </Badge>,
          ],
          [t('keys'), <Count key="keys" value={keys} />],
          [t('slots'), <Count key="slots" value={slots} />],
          [t('cacheHits'), hits],
        ]}
      />
      {reasons.length > 0 && (
        <ul style={{ margin: '8px 0 0', paddingLeft: 18 }}>
          {reasons.map((reason) => (
            <li key={reason}>{reason}</li>
          ))}
        </ul>
      )}
    </>
  )
}

function isUnavailable(cause: unknown): boolean {
  return cause instanceof ApiError && cause.statusCode === 503
}

const CHECKS = ['database', 'cache', 'key_pool', 'journal', 'capacity'] as const
const CHECK_BADGES = {
  ok: ['good', 'check'],
  down: ['bad', 'alert'],
  unused: ['plain', 'dash'],
} as const satisfies Record<string, readonly [Tone, IconName]>

function Readiness(): ReactNode {
  const t = useWords('system')
  const ready = useQuery({
    queryKey: ['readiness'],
    queryFn: ({ signal }) => readReadiness(signal),
    refetchInterval: EVERY_MS,
  })
  if (ready.data === undefined) {
    return ready.isError ? (
      <Failed
        cause={ready.error}
        retry={() => {
          void ready.refetch()
        }}
      />
    ) : null
  }
  const { checks } = ready.data
  const rows = CHECKS.flatMap((name) => {
    const check = checks[name]
    return check === undefined ? [] : [{ name, ...check }]
  })
  return (
    <Grid
      label={t('parts')}
      rows={rows}
      idOf={({ name }) => name}
      columns={[
        { head: t('part'), cell: ({ name }) => t(`checks.${name}`) },
        {
          head: t('state'),
          cell: ({ status, message }) => {
            const [tone, icon] = CHECK_BADGES[status]
            return (
              <Badge tone={tone} icon={icon} title={message}>
                {t(`checkStates.${status}`)}
              </Badge>
            )
          },
        },
        {
          head: t('took'),
          isNumber: true,
          cell: ({ status, latency_ms: ms }) =>
            status === 'unused' ? <Nothing why={t('checkStates.unused')} /> : <Duration ms={ms} />,
        },
      ]}
    />
  )
}

function Installation(): ReactNode {
  const t = useWords('system')
  const locale = useLocale()
  const system = useRead('adminGetSystem', {})
  if (system.data === undefined) {
    return system.isError ? (
      <Failed
        cause={system.error}
        retry={() => {
          void system.refetch()
        }}
      />
    ) : null
  }
  const shown = system.data
  const isOn = (value: boolean): string => t(value ? 'on' : 'off')
  return (
    <>
      <Facts
        rows={[
          [t('version'), <code key="version">{shown.version}</code>],
          [t('node'), <code key="node">{shown.node_version}</code>],
          [t('started'), <Time key="started" at={shown.started_at} isRelative />],
          [t('currency'), shown.currency],
          [t('registration'), t(`registrations.${shown.registration}`)],
          [t('topup'), isOn(shown.tenant_topup)],
          [t('unpriced'), isOn(shown.allow_unpriced)],
          [
            t('retention'),
            shown.log_retention_days === 0
              ? t('forever')
              : t('days', { days: exact(shown.log_retention_days, locale) }),
          ],
          [t('capture'), isOn(shown.capture_allowed)],
        ]}
      />
    </>
  )
}
