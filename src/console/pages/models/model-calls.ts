import type { ItemOf, RequestOf } from '../../../client/index.ts'
import { refresh } from '../../api/queries.ts'
import { call } from '../../api/session.ts'

export type Model = ItemOf<'adminListModels'>
export type Prices = NonNullable<Model['prices']>
type ModelChange = NonNullable<RequestOf<'adminUpdateModel'>['body']>
export type NewPrices = NonNullable<ModelChange['prices']>
export type Group = ItemOf<'adminListModelGroups'>

function refreshModels(): Promise<unknown> {
  return refresh('adminListModels', 'adminGetModel')
}

export async function changeModel(id: string, body: ModelChange, etag: string | null): Promise<void> {
  await call('adminUpdateModel', { params: { id }, body }, etag === null ? {} : { ifMatch: etag })
  await refreshModels()
}

export async function forgetModel(id: string): Promise<void> {
  await call('adminDeleteModel', { params: { id } })
  await refreshModels()
}

export async function putGroup(id: string, models: readonly string[]): Promise<void> {
  await call('adminPutModelGroup', { params: { id }, body: { models: [...models] } })
  await refresh('adminListModelGroups')
}

export async function deleteGroup(id: string): Promise<void> {
  await call('adminDeleteModelGroup', { params: { id } })
  await refresh('adminListModelGroups')
}
