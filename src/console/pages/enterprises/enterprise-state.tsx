import type { ReactNode } from 'react'
import { Badge } from '../../parts/badge.tsx'
import { useWords } from '../../words/index.ts'
import type { Enterprise } from './enterprise-calls.ts'

const BADGES = {
  active: ['good', 'check'],
  disabled: ['plain', 'power'],
  deleted: ['bad', 'trash'],
} as const

export function EnterpriseState({ status }: Pick<Enterprise, 'status'>): ReactNode {
  const t = useWords('enterprises')
  const [tone, icon] = BADGES[status]
  return (
    <Badge tone={tone} icon={icon}>
      {t(`states.${status}`)}
    </Badge>
  )
}
