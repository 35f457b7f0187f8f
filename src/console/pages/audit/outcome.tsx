import type { ReactNode } from 'react'
import { Badge } from '../../parts/badge.tsx'
import { useWords } from '../../words/index.ts'
import type { AuditEntry } from './audit-calls.ts'

export function Outcome({ entry }: { readonly entry: AuditEntry }): ReactNode {
  const t = useWords('audit')
  return entry.outcome === 'done' ? (
    <Badge tone="good" icon="check">
      {t('outcomes.done')}
    </Badge>
  ) : (
    <Badge tone="bad" icon="cross" title={entry.error_code ?? undefined}>
      {t('outcomes.refused')}
    </Badge>
  )
}
