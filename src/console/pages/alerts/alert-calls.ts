import { useQuery } from '@tanstack/react-query'
import type { UseQueryResult } from '@tanstack/react-query'
import type { AnswerWithHeaders, RequestOf, ResultOf } from '../../../client/index.ts'
import { queryClient, refresh } from '../../api/queries.ts'
import { call, callWithHeaders } from '../../api/session.ts'

export type Alert = ResultOf<'getAlert'>
/** With the secrets of its new webhooks, which are shown this once. */
export type NewAlert = ResultOf<'createAlert'>
export type Delivery = ResultOf<'listAlertDeliveries'>['data'][number]
export type AlertBody = RequestOf<'createAlert'>['body']
export type AlertChange = NonNullable<RequestOf<'updateAlert'>['body']>
export type AlertKind = AlertBody['kind']
export type Tested = ResultOf<'testAlert'>

/** With its ETag, so that a change meets only the alert that was shown. */
export function useAlertDetail(enterpriseId: string, alertId: string): UseQueryResult<AnswerWithHeaders<Alert>> {
  return useQuery<AnswerWithHeaders<Alert>>({
    queryKey: ['getAlert', enterpriseId, alertId],
    queryFn: ({ signal }) => callWithHeaders('getAlert', { params: { id: enterpriseId, alertId } }, { signal }),
  })
}

export async function createAlert(enterpriseId: string, body: AlertBody): Promise<NewAlert> {
  const made = await call('createAlert', { params: { id: enterpriseId }, body })
  await refreshAlerts()
  return made
}

export async function updateAlert(
  enterpriseId: string,
  alertId: string,
  body: AlertChange,
  etag: string | null = null,
): Promise<NewAlert> {
  const options = etag === null ? {} : { ifMatch: etag }
  const changed = await call('updateAlert', { params: { id: enterpriseId, alertId }, body }, options)
  await refreshAlerts()
  return changed
}

/** Shows the new state at once; a failure shows the old one again, and rejects. */
export async function setEnabled(enterpriseId: string, alertId: string, enabled: boolean): Promise<void> {
  showEnabled(alertId, enabled)
  try {
    await call('updateAlert', { params: { id: enterpriseId, alertId }, body: { enabled } })
  } catch (cause) {
    showEnabled(alertId, !enabled)
    throw cause
  } finally {
    await refreshAlerts()
  }
}

function showEnabled(alertId: string, enabled: boolean): void {
  queryClient.setQueriesData<ResultOf<'listAlerts'>>({ queryKey: ['listAlerts'] }, (list) =>
    list === undefined
      ? list
      : { ...list, data: list.data.map((one) => (one.id === alertId ? { ...one, enabled } : one)) },
  )
  queryClient.setQueriesData<AnswerWithHeaders<Alert>>({ queryKey: ['getAlert'] }, (answer) =>
    answer?.data.id === alertId ? { ...answer, data: { ...answer.data, enabled } } : answer,
  )
}

export async function deleteAlert(enterpriseId: string, alertId: string): Promise<void> {
  await call('deleteAlert', { params: { id: enterpriseId, alertId } })
  await refreshAlerts()
}

async function refreshAlerts(): Promise<void> {
  await refresh('listAlerts', 'listAlertDeliveries', 'getAlert')
}
