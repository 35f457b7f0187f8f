import type { ItemOf, RequestOf } from '../../../client/index.ts'
import { refresh } from '../../api/queries.ts'
import { call } from '../../api/session.ts'

export type Enterprise = ItemOf<'adminListEnterprises'>
type NewEnterprise = RequestOf<'adminCreateEnterprise'>['body']
export type EnterpriseChange = NonNullable<RequestOf<'adminUpdateEnterprise'>['body']>

function refreshEnterprises(): Promise<unknown> {
  return refresh(
    'adminListEnterprises',
    'adminGetEnterprise',
    'getEnterprise',
    'adminDashboard',
    'getWallet',
    'listTransactions',
  )
}

export async function createEnterprise(body: NewEnterprise): Promise<Enterprise> {
  const made = await call('adminCreateEnterprise', { body })
  await refreshEnterprises()
  return made
}

export async function changeEnterprise(id: string, body: EnterpriseChange, etag: string | null): Promise<void> {
  await call('adminUpdateEnterprise', { params: { id }, body }, etag === null ? {} : { ifMatch: etag })
  await refreshEnterprises()
}

export async function deleteEnterprise(id: string): Promise<void> {
  await call('adminDeleteEnterprise', { params: { id } })
  await refreshEnterprises()
}

interface Payment {
  /** Micro-units, above 0. */
  readonly amount: number
  readonly currency: string
  readonly reference: string
}

export async function creditWallet(id: string, payment: Payment): Promise<void> {
  await call('topUpWallet', { params: { id }, body: payment })
  await refreshEnterprises()
}

/** Pays back, or corrects: the amount is below 0 where money leaves the wallet. */
export async function adjustWallet(
  id: string,
  kind: 'refund' | 'adjustment',
  { amount, reference }: Omit<Payment, 'currency'>,
): Promise<void> {
  await call('adminAdjustWallet', { params: { id }, body: { kind, amount, reference } })
  await refreshEnterprises()
}
