import type { RequestOf, ResultOf } from '../../../client/index.ts'
import { refresh } from '../../api/queries.ts'
import { call } from '../../api/session.ts'

export type JoinRequest = ResultOf<'listJoinRequests'>['data'][number]

export async function approve(
  enterpriseId: string,
  requestId: string,
  body: NonNullable<RequestOf<'approveJoinRequest'>['body']>,
): Promise<void> {
  await call('approveJoinRequest', { params: { id: enterpriseId, requestId }, body: { ...body } })
  await refresh('listJoinRequests', 'listMembers', 'listDepartments')
}

export async function reject(enterpriseId: string, requestId: string, reason: string): Promise<void> {
  const body = reason === '' ? {} : { reason }
  await call('rejectJoinRequest', { params: { id: enterpriseId, requestId }, body })
  await refresh('listJoinRequests')
}
