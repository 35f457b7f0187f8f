import type { RequestOf, ResultOf } from '../../../client/index.ts'
import { call } from '../../api/session.ts'

export type AuditEntry = ResultOf<'listEnterpriseAudit'>['data'][number]
export type AuditQuery = NonNullable<RequestOf<'listEnterpriseAudit'>['query']>

const LIMIT = 50
const EXPORT_LIMIT = 100
/** More is for the API: a browser holds the file in memory. */
export const MAX_EXPORTED = 10_000

export function auditPage(
  enterpriseId: string,
  query: AuditQuery,
  cursor: string | null,
  signal: AbortSignal,
): Promise<ResultOf<'listEnterpriseAudit'>> {
  const page = { ...query, limit: LIMIT, ...(cursor === null ? {} : { cursor }) }
  return call('listEnterpriseAudit', { params: { id: enterpriseId }, query: page }, { signal })
}

/** Reads the filtered rows, the newest first. @param onRead called with the number of rows so far */
export async function readAll(
  enterpriseId: string,
  query: AuditQuery,
  onRead: (rows: number) => void,
  signal: AbortSignal,
): Promise<readonly AuditEntry[]> {
  const rows: AuditEntry[] = []
  let cursor: string | null = null
  do {
    const page: AuditQuery = { ...query, limit: EXPORT_LIMIT, ...(cursor === null ? {} : { cursor }) }
    const answer: ResultOf<'listEnterpriseAudit'> = await call(
      'listEnterpriseAudit',
      { params: { id: enterpriseId }, query: page },
      { signal },
    )
    rows.push(...answer.data)
    onRead(rows.length)
    cursor = answer.next_cursor
  } while (cursor !== null && rows.length < MAX_EXPORTED)
  return rows
}
