import type { ItemOf, RequestOf } from '../../../client/index.ts'
import { refresh } from '../../api/queries.ts'
import { call } from '../../api/session.ts'
import { keyName } from '../../parts/use-load.ts'
import type { LiveKey, Load, RelayKey } from '../../parts/use-load.ts'

export type Upstream = ItemOf<'adminListUpstreams'>
export type UpstreamKey = Upstream['keys'][number]
type NewUpstream = RequestOf<'adminCreateUpstream'>['body']
export type UpstreamChange = NonNullable<RequestOf<'adminUpdateUpstream'>['body']>
type NewKey = RequestOf<'adminCreateUpstreamKey'>['body']
type KeyChange = NonNullable<RequestOf<'adminUpdateUpstreamKey'>['body']>

function refreshUpstreams(): Promise<unknown> {
  return refresh('adminListUpstreams', 'adminGetUpstream', 'adminRelayStats', 'adminListModels', 'adminGetModel')
}

export async function createUpstream(body: NewUpstream): Promise<void> {
  await call('adminCreateUpstream', { body })
  await refreshUpstreams()
}

export async function changeUpstream(id: string, body: UpstreamChange, etag: string | null): Promise<void> {
  await call('adminUpdateUpstream', { params: { id }, body }, etag === null ? {} : { ifMatch: etag })
  await refreshUpstreams()
}

export async function deleteUpstream(id: string): Promise<void> {
  await call('adminDeleteUpstream', { params: { id } })
  await refreshUpstreams()
}

export async function createUpstreamKey(id: string, body: NewKey): Promise<void> {
  await call('adminCreateUpstreamKey', { params: { id }, body })
  await refreshUpstreams()
}

export async function changeUpstreamKey(id: string, keyId: string, body: KeyChange): Promise<void> {
  await call('adminUpdateUpstreamKey', { params: { id, keyId }, body })
  await refreshUpstreams()
}

export async function deleteUpstreamKey(id: string, keyId: string): Promise<void> {
  await call('adminDeleteUpstreamKey', { params: { id, keyId } })
  await refreshUpstreams()
}

/** The state and the work of an upstream and its keys. */
export interface Work {
  /** Null: no process has told of the key yet. */
  readonly liveOf: (keyId: string) => LiveKey | null
  /** Null: it served nothing in the period. */
  readonly usedOf: (keyId: string) => RelayKey | null
  readonly isKnown: boolean
}

export function workOf(upstreamId: string, load: Load, used: readonly RelayKey[]): Work {
  const usedBy = new Map(used.map((key) => [keyName(key), key]))
  const nameOf = (keyId: string): string => keyName({ provider_id: upstreamId, upstream_key_id: keyId })
  return {
    liveOf: (keyId) => load.keys.get(nameOf(keyId)) ?? null,
    usedOf: (keyId) => usedBy.get(nameOf(keyId)) ?? null,
    isKnown: load.now !== null,
  }
}

interface Sums {
  readonly slotsUsed: number
  readonly slots: number
  readonly requests: number
  readonly errors: number
  /** Null: nothing was answered. */
  readonly ttftMs: number | null
}

export function sumsOf({ keys }: Upstream, { liveOf, usedOf }: Work): Sums {
  const used = keys.map(({ id }) => usedOf(id)).filter((one) => one !== null)
  const requests = used.reduce((sum, one) => sum + one.requests, 0)
  const timed = used.filter(({ mean_ttft_ms: ttft }) => ttft !== null)
  const timedRequests = timed.reduce((sum, one) => sum + one.requests, 0)
  return {
    slotsUsed: keys.reduce((sum, { id }) => sum + (liveOf(id)?.slots_used ?? 0), 0),
    slots: keys.reduce((sum, { enabled, max_concurrency: most }) => sum + (enabled ? most : 0), 0),
    requests,
    errors: used.reduce((sum, one) => sum + one.errors, 0),
    ttftMs:
      timedRequests === 0
        ? null
        : timed.reduce((sum, one) => sum + (one.mean_ttft_ms ?? 0) * one.requests, 0) / timedRequests,
  }
}
