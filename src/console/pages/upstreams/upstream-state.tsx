import type { ReactNode } from 'react'
import { duration, exact } from '../../format/numbers.ts'
import { Badge } from '../../parts/badge.tsx'
import { useLocale } from '../../parts/values.tsx'
import type { LiveKey } from '../../parts/use-load.ts'
import { useWords } from '../../words/index.ts'
import type { Upstream, UpstreamKey, Work } from './upstream-calls.ts'

/** The state of an upstream and the reason for it: what is set, then the worst that its keys report. */
export function UpstreamState({ shown, work }: { readonly shown: Upstream; readonly work: Work }): ReactNode {
  const t = useWords('upstreams')
  const locale = useLocale()
  const running = shown.keys.reduce((sum, { id }) => sum + (work.liveOf(id)?.slots_used ?? 0), 0)
  if (shown.state === 'invalid') {
    return (
      <Badge tone="bad" icon="alert" title={shown.problem ?? undefined}>
        {t('states.invalid')}
      </Badge>
    )
  }
  if (shown.state === 'shadowed') {
    return (
      <Badge tone="warn" icon="alert" title={t('about.shadowed')}>
        {t('states.shadowed')}
      </Badge>
    )
  }
  if (shown.state === 'disabled') return <Off running={running} />
  const usable = shown.keys.filter(({ id, state }) => state === 'active' && isUsable(work.liveOf(id)))
  if (shown.keys.length === 0) {
    return (
      <Badge tone="warn" icon="key" title={t('about.noKey')}>
        {t('states.noKey')}
      </Badge>
    )
  }
  if (usable.length === 0) {
    return (
      <Badge tone="bad" icon="alert" title={t('about.noneWorks')}>
        {t('states.noneWorks')}
      </Badge>
    )
  }
  const wanted = shown.keys.filter(({ enabled }) => enabled).length
  if (usable.length < wanted) {
    return (
      <Badge tone="warn" icon="clock" title={t('about.some')}>
        {t('states.some', { usable: exact(usable.length, locale), of: exact(wanted, locale) })}
      </Badge>
    )
  }
  return (
    <Badge tone="good" icon="check">
      {t('states.ok')}
    </Badge>
  )
}

/** A key that no process has told of yet is taken for one that works. */
function isUsable(live: LiveKey | null): boolean {
  return live === null || live.state === 'ok' || live.state === 'half-open'
}

function Off({ running }: { readonly running: number }): ReactNode {
  const t = useWords('upstreams')
  const locale = useLocale()
  return running > 0 ? (
    <Badge tone="accent" icon="clock" title={t('about.draining')}>
      {t('states.draining', { running: exact(running, locale) })}
    </Badge>
  ) : (
    <Badge tone="plain" icon="power" title={t('about.off')}>
      {t('states.off')}
    </Badge>
  )
}

const TONES = {
  ok: ['good', 'check'],
  'half-open': ['accent', 'refresh'],
  cooling: ['warn', 'clock'],
  'breaker-open': ['bad', 'alert'],
  disabled: ['plain', 'power'],
  unknown: ['plain', 'help'],
} as const

/** The state of a key, why, and until when. */
export function UpstreamKeyState({
  shown: { state, enabled },
  live,
}: {
  readonly shown: Pick<UpstreamKey, 'state' | 'enabled'>
  readonly live: Pick<LiveKey, 'state' | 'cooling_seconds' | 'slots_used'> | null
}): ReactNode {
  const t = useWords('upstreams')
  const locale = useLocale()
  if (state === 'unreadable' || state === 'shadowed') {
    return (
      <Badge tone="bad" icon="alert" title={t(`about.${state}`)}>
        {t(`states.${state}`)}
      </Badge>
    )
  }
  if (!enabled || state === 'disabled') return <Off running={live?.slots_used ?? 0} />
  const now = live?.state ?? 'ok'
  const [tone, icon] = TONES[now]
  const seconds = live?.cooling_seconds ?? 0
  return (
    <Badge tone={tone} icon={icon} title={t(`about.${now}`)}>
      {seconds > 0
        ? t('states.until', { state: t(`states.${now}`), rest: duration(seconds * 1_000, locale) })
        : t(`states.${now}`)}
    </Badge>
  )
}
