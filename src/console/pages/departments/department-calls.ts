import { useQuery } from '@tanstack/react-query'
import type { UseQueryResult } from '@tanstack/react-query'
import type { AnswerWithHeaders, RequestOf } from '../../../client/index.ts'
import { refresh } from '../../api/queries.ts'
import { call, callWithHeaders } from '../../api/session.ts'
import type { Department } from '../../parts/enterprise.ts'

export type DepartmentBody = RequestOf<'createDepartment'>['body']
export type DepartmentChange = NonNullable<RequestOf<'updateDepartment'>['body']>

/** With its ETag, so that a change meets only the department that was shown. */
export function useDepartmentDetail(
  enterpriseId: string,
  departmentId: string,
): UseQueryResult<AnswerWithHeaders<Department>> {
  return useQuery<AnswerWithHeaders<Department>>({
    queryKey: ['getDepartment', enterpriseId, departmentId],
    queryFn: ({ signal }) =>
      callWithHeaders('getDepartment', { params: { id: enterpriseId, departmentId } }, { signal }),
  })
}

export async function createDepartment(enterpriseId: string, body: DepartmentBody): Promise<Department> {
  const made = await call('createDepartment', { params: { id: enterpriseId }, body })
  await refreshDepartments()
  return made
}

export async function updateDepartment(
  enterpriseId: string,
  departmentId: string,
  body: DepartmentChange,
  etag: string | null = null,
): Promise<void> {
  const options = etag === null ? {} : { ifMatch: etag }
  await call('updateDepartment', { params: { id: enterpriseId, departmentId }, body }, options)
  await refreshDepartments()
}

export async function deleteDepartment(enterpriseId: string, departmentId: string): Promise<void> {
  await call('deleteDepartment', { params: { id: enterpriseId, departmentId } })
  await refreshDepartments()
}

async function refreshDepartments(): Promise<void> {
  await refresh('listDepartments', 'getDepartment')
}
