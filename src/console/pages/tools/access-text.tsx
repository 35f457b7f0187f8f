import type { ReactNode } from 'react'
import { useRead } from '../../api/queries.ts'
import { useWords } from '../../words/index.ts'
import { isForAll, ROLES } from './access-draft.ts'
import type { AccessRule } from './access-draft.ts'

const MOST = 100
const STALE_MS = 60_000

/** The access to a tool server, a line for each rule. */
export function AccessText({ access }: { readonly access: readonly AccessRule[] }): ReactNode {
  const t = useWords('tools')
  const common = useWords('common')
  const enterprises = useRead('adminListEnterprises', { query: { limit: MOST } }, { staleMs: STALE_MS }).data?.data
  if (access.length === 0) return t('access.nobody')
  if (access.some(isForAll)) return t('access.everyone')
  return (
    <ul style={{ margin: 0, paddingLeft: 18 }}>
      {access.map((rule) => {
        const { enterprise_id: enterprise, department_id: department, key_id: key } = rule
        const role = ROLES.find((one) => one === rule.role)
        const parts = [
          ...(role === undefined ? [] : [common(`roles.${role}`)]),
          ...(enterprise === undefined
            ? []
            : [`${t('rule.enterprise')} ${enterprises?.find(({ id }) => id === enterprise)?.name ?? enterprise}`]),
          ...(department === undefined ? [] : [`${t('rule.department')} ${department}`]),
          ...(key === undefined ? [] : [`${t('rule.key')} ${key}`]),
        ]
        return <li key={JSON.stringify(rule)}>{parts.join(' · ')}</li>
      })}
    </ul>
  )
}
