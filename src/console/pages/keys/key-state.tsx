import type { ReactNode } from 'react'
import { Badge } from '../../parts/badge.tsx'
import { useZone } from '../../shell/zone.tsx'
import { useWords } from '../../words/index.ts'
import type { AnyKey } from './key-calls.ts'

/** The state that decides whether the key is accepted; the first of them that holds. */
export function KeyState({ shown }: { readonly shown: AnyKey }): ReactNode {
  const t = useWords('keys')
  const { now } = useZone()
  if (!shown.enabled) {
    return (
      <Badge tone="plain" icon="power">
        {t('states.off')}
      </Badge>
    )
  }
  if (shown.expires_at !== null && new Date(shown.expires_at) <= now) {
    return (
      <Badge tone="bad" icon="clock">
        {t('states.expired')}
      </Badge>
    )
  }
  const { remaining = null } = shown.spend ?? {}
  if (remaining !== null && remaining <= 0) {
    return (
      <Badge tone="bad" icon="alert">
        {t('states.exhausted')}
      </Badge>
    )
  }
  if (shown.old_key_until !== null) {
    return (
      <Badge tone="accent" icon="rotate" title={t('rotatingAbout')}>
        {t('states.rotating')}
      </Badge>
    )
  }
  return (
    <Badge tone="good" icon="check">
      {t('states.on')}
    </Badge>
  )
}
