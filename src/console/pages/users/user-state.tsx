import type { ReactNode } from 'react'
import { Badge } from '../../parts/badge.tsx'
import { useWords } from '../../words/index.ts'
import type { User } from './user-calls.ts'

const BADGES = {
  active: ['good', 'check'],
  disabled: ['plain', 'power'],
  deleted: ['bad', 'trash'],
} as const

export function UserState({ status }: Pick<User, 'status'>): ReactNode {
  const t = useWords('users')
  const [tone, icon] = BADGES[status]
  return (
    <Badge tone={tone} icon={icon}>
      {t(`states.${status}`)}
    </Badge>
  )
}
