import type { ReactNode } from 'react'
import { Badge } from '../../parts/badge.tsx'
import { useWords } from '../../words/index.ts'
import type { Invitation, Member } from './member-calls.ts'

export function MemberState({ status }: { readonly status: Member['status'] }): ReactNode {
  const t = useWords('members')
  return status === 'active' ? (
    <Badge tone="good" icon="check">
      {t('states.active')}
    </Badge>
  ) : (
    <Badge tone="plain" icon="power">
      {t('states.off')}
    </Badge>
  )
}

export function InvitationState({ status }: { readonly status: Invitation['status'] }): ReactNode {
  const t = useWords('members')
  return status === 'expired' ? (
    <Badge tone="warn" icon="clock">
      {t('states.expired')}
    </Badge>
  ) : (
    <Badge tone="accent" icon="clock">
      {t('states.invited')}
    </Badge>
  )
}
