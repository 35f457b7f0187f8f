import type { RequestOf, ResultOf } from '../../../client/index.ts'
import { call } from '../../api/session.ts'
import type { Scope } from '../../shell/scope.ts'
import { enterpriseIdOf } from '../../parts/enterprise.ts'

export type AuditEntry = ResultOf<'listEnterpriseAudit'>['data'][number]
/** Of the platform, whose log has more filters: those are never set in an enterprise. */
export type AuditQuery = NonNullable<RequestOf<'adminAudit'>['query']>

type AuditPage = ResultOf<'listEnterpriseAudit'>

const LIMIT = 50
const EXPORT_LIMIT = 100
/** More is for the API: a browser holds the file in memory. */
export const MAX_EXPORTED = 10_000

export function auditPage(
  scope: Scope,
  query: AuditQuery,
  cursor: string | null,
  signal: AbortSignal,
  limit = LIMIT,
): Promise<AuditPage> {
  const page = { ...query, limit, ...(cursor === null ? {} : { cursor }) }
  if (scope.kind === 'platform') return call('adminAudit', { query: page }, { signal })
  return call('listEnterpriseAudit', { params: { id: enterpriseIdOf(scope) }, query: page }, { signal })
}

/** Reads the filtered rows, the newest first. @param onRead called with the number of rows so far */
export async function readAll(
  scope: Scope,
  query: AuditQuery,
  onRead: (rows: number) => void,
  signal: AbortSignal,
): Promise<readonly AuditEntry[]> {
  const rows: AuditEntry[] = []
  let cursor: string | null = null
  do {
    const answer: AuditPage = await auditPage(scope, query, cursor, signal, EXPORT_LIMIT)
    rows.push(...answer.data)
    onRead(rows.length)
    cursor = answer.next_cursor
  } while (cursor !== null && rows.length < MAX_EXPORTED)
  return rows
}
