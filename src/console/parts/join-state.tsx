import type { ReactNode } from 'react'
import { useWords } from '../words/index.ts'
import { Badge } from './badge.tsx'
import type { Tone } from './badge.tsx'
import type { IconName } from './icons.tsx'

export type JoinStatus = 'pending' | 'approved' | 'rejected' | 'cancelled'

const SHOWN = {
  pending: ['accent', 'clock'],
  approved: ['good', 'check'],
  rejected: ['bad', 'cross'],
  cancelled: ['plain', 'undo'],
} as const satisfies Record<JoinStatus, readonly [Tone, IconName]>

/** The state of a request to join, for those who decide and for the one who asked. */
export function JoinState({ status }: { readonly status: JoinStatus }): ReactNode {
  const t = useWords('enterprise')
  const [tone, icon] = SHOWN[status]
  return (
    <Badge tone={tone} icon={icon}>
      {t(`joins.${status}`)}
    </Badge>
  )
}
