import { useQuery } from '@tanstack/react-query'
import type { UseQueryResult } from '@tanstack/react-query'
import type { AnswerWithHeaders, RequestOf, ResultOf } from '../../../client/index.ts'
import { queryClient, refresh } from '../../api/queries.ts'
import { call, callWithHeaders } from '../../api/session.ts'

export type Member = ResultOf<'getMember'>
export type Invitation = ResultOf<'listInvitations'>['data'][number]
/** With its token, which is shown this once. */
export type Invited = ResultOf<'invite'>
export type MemberChange = NonNullable<RequestOf<'updateMember'>['body']>
export type InviteBody = RequestOf<'invite'>['body']

/** With its ETag, so that a change meets only the member that was shown. Nothing is asked for null. */
export function useMemberDetail(
  enterpriseId: string,
  memberId: string | null,
): UseQueryResult<AnswerWithHeaders<Member>> {
  return useQuery<AnswerWithHeaders<Member>>({
    queryKey: ['getMember', enterpriseId, memberId],
    queryFn: ({ signal }) =>
      callWithHeaders('getMember', { params: { id: enterpriseId, memberId: memberId ?? '' } }, { signal }),
    enabled: memberId !== null,
  })
}

export async function updateMember(
  enterpriseId: string,
  memberId: string,
  body: MemberChange,
  etag: string | null = null,
): Promise<void> {
  const options = etag === null ? {} : { ifMatch: etag }
  await call('updateMember', { params: { id: enterpriseId, memberId }, body }, options)
  await refreshMembers()
}

/** Shows the new state at once; a failure shows the old one again, and rejects. */
export async function setStatus(enterpriseId: string, memberId: string, status: Member['status']): Promise<void> {
  showStatus(memberId, status)
  try {
    await call('updateMember', { params: { id: enterpriseId, memberId }, body: { status } })
  } catch (cause) {
    showStatus(memberId, status === 'active' ? 'disabled' : 'active')
    throw cause
  } finally {
    await refreshMembers()
  }
}

function showStatus(memberId: string, status: Member['status']): void {
  queryClient.setQueriesData<ResultOf<'listMembers'>>({ queryKey: ['listMembers'] }, (list) =>
    list === undefined
      ? list
      : { ...list, data: list.data.map((one) => (one.id === memberId ? { ...one, status } : one)) },
  )
  queryClient.setQueriesData<AnswerWithHeaders<Member>>({ queryKey: ['getMember'] }, (answer) =>
    answer?.data.id === memberId ? { ...answer, data: { ...answer.data, status } } : answer,
  )
}

export async function removeMember(enterpriseId: string, memberId: string): Promise<void> {
  await call('removeMember', { params: { id: enterpriseId, memberId } })
  await Promise.all([refreshMembers(), refresh('listEnterpriseKeys', 'listDepartments')])
}

export async function invite(enterpriseId: string, body: InviteBody): Promise<Invited> {
  return call('invite', { params: { id: enterpriseId }, body })
}

export async function resendInvitation(enterpriseId: string, invitationId: string): Promise<Invited> {
  const sent = await call('resendInvitation', { params: { id: enterpriseId, invitationId } })
  await refresh('listInvitations')
  return sent
}

export async function revokeInvitation(enterpriseId: string, invitationId: string): Promise<void> {
  await call('cancelInvitation', { params: { id: enterpriseId, invitationId } })
  await refresh('listInvitations')
}

async function refreshMembers(): Promise<void> {
  await refresh('listMembers', 'getMember')
}
