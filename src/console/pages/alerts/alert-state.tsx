import type { ReactNode } from 'react'
import { Badge } from '../../parts/badge.tsx'
import type { Tone } from '../../parts/badge.tsx'
import type { IconName } from '../../parts/icons.tsx'
import { useWords } from '../../words/index.ts'
import type { Alert, Delivery } from './alert-calls.ts'

export function AlertState({ alert }: { readonly alert: Pick<Alert, 'enabled' | 'firing'> }): ReactNode {
  const t = useWords('alerts')
  if (!alert.enabled) {
    return (
      <Badge tone="plain" icon="power">
        {t('states.off')}
      </Badge>
    )
  }
  const count = alert.firing.length
  return count === 0 ? (
    <Badge tone="good" icon="check" title={t('states.calmAbout')}>
      {t('states.calm')}
    </Badge>
  ) : (
    <Badge tone="bad" icon="alert" title={t('states.firingAbout', { count })}>
      {t('states.firing', { count })}
    </Badge>
  )
}

const SHOWN = {
  pending: ['accent', 'clock'],
  held: ['plain', 'moon'],
  delivered: ['good', 'check'],
  failed: ['bad', 'alert'],
  dropped: ['plain', 'cross'],
} as const satisfies Record<Delivery['status'], readonly [Tone, IconName]>

export function DeliveryState({ status }: { readonly status: Delivery['status'] }): ReactNode {
  const t = useWords('alerts')
  const [tone, icon] = SHOWN[status]
  return (
    <Badge tone={tone} icon={icon} title={t(`deliveryAbout.${status}`)}>
      {t(`deliveryStates.${status}`)}
    </Badge>
  )
}
