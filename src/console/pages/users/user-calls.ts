import type { ItemOf, RequestOf } from '../../../client/index.ts'
import { refresh } from '../../api/queries.ts'
import { call } from '../../api/session.ts'

export type User = ItemOf<'adminListUsers'>
type NewUser = RequestOf<'adminCreateUser'>['body']
export type UserChange = NonNullable<RequestOf<'adminUpdateUser'>['body']>

function refreshUsers(): Promise<unknown> {
  return refresh('adminListUsers', 'adminGetUser', 'adminDashboard')
}

export async function createUser(body: NewUser): Promise<User> {
  const made = await call('adminCreateUser', { body })
  await refreshUsers()
  return made
}

export async function changeUser(id: string, body: UserChange, etag: string | null): Promise<void> {
  await call('adminUpdateUser', { params: { id }, body }, etag === null ? {} : { ifMatch: etag })
  await refreshUsers()
}

export async function deleteUser(id: string): Promise<void> {
  await call('adminDeleteUser', { params: { id } })
  await refreshUsers()
}

export async function resetTotp(id: string): Promise<void> {
  await call('adminResetTotp', { params: { id } })
}
