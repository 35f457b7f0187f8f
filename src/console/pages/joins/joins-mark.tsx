import type { ReactNode } from 'react'
import { useRead } from '../../api/queries.ts'
import { enterpriseIdOf } from '../../parts/enterprise.ts'
import { Mark } from '../../parts/mark.tsx'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'

const EVERY_MS = 60_000

/** The number of people who wait for an answer, in the navigation. */
export function JoinsMark({ scope }: { readonly scope: Scope }): ReactNode {
  const t = useWords('common')
  const { data } = useRead(
    'listJoinRequests',
    { params: { id: enterpriseIdOf(scope) }, query: { status: 'pending', limit: 1 } },
    { everyMs: EVERY_MS },
  )
  const count = data?.total ?? 0
  return count === 0 ? null : <Mark count={count} label={t('waiting', { count })} />
}
