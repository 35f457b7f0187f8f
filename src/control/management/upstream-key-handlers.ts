import type { Static } from 'typebox'
import type { UpstreamKey, UPSTREAMS } from '../../shared/api/operations/upstreams.ts'
import type { Book, BookedUpstream } from '../../shared/config/upstream-book.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Queryable } from '../store/database.ts'
import { deleteUpstreamKey, insertUpstreamKey, listStored, lockStored, updateUpstreamKey } from '../store/upstreams.ts'
import type { Handlers } from './call.ts'
import { checkStorable } from './validate-as-configuration.ts'
import { orNotFound } from './or-not-found.ts'
import { offsetOf, pageOf } from './pages.ts'
import { changeable } from './upstream-handlers.ts'
import type { UpstreamParts } from './upstream-handlers.ts'
import { checkKey, checkKeyIds, draftKey } from './upstream-keys.ts'
import { shownUpstreams } from './upstream-views.ts'

type Names = Extract<keyof typeof UPSTREAMS, `${string}UpstreamKey${string}`>
type ShownKey = Static<typeof UpstreamKey>

/** Upstream keys. The API takes their credentials and never returns them. */
export function upstreamKeyHandlers({ database, book, seal }: UpstreamParts): Handlers<Names> {
  const read = async (queryable: Queryable): Promise<Book> => book.merge(await listStored(queryable, seal))

  const keysOf = async (queryable: Queryable, upstreamId: string): Promise<readonly ShownKey[]> => {
    const all = shownUpstreams(book, await read(queryable))
    return orNotFound(all.find(({ id }) => id === upstreamId) ?? null).keys
  }
  const keyOf = async (queryable: Queryable, upstreamId: string, keyId: string): Promise<ShownKey> => {
    const keys = await keysOf(queryable, upstreamId)
    return orNotFound(keys.find(({ id }) => id === keyId) ?? null)
  }

  /** Locks and returns the upstream for a change, until the transaction ends. */
  const take = async (
    tx: Queryable,
    id: string,
  ): Promise<{ upstream: BookedUpstream; upstreams: Book['upstreams'] }> => {
    await lockStored(tx)
    const { upstreams } = await read(tx)
    return { upstream: changeable(book, upstreams, id), upstreams }
  }

  return {
    adminListUpstreamKeys: async ({ params, query }) => {
      const keys = await keysOf(database, params.id)
      const { offset, limit } = offsetOf(query)
      return pageOf(keys.slice(offset, offset + limit), keys.length, query, (shown) => shown)
    },

    adminCreateUpstreamKey: async ({ params, body }) => {
      checkStorable(body)
      return database.transaction(async (tx) => {
        const { upstream, upstreams } = await take(tx, params.id)
        const key = draftKey(params.id, body)
        checkKey(book, upstream.stored, key)
        checkKeyIds(book, upstreams, { ...upstream.stored, keys: [key] })
        await insertUpstreamKey(tx, seal, key)
        return keyOf(tx, params.id, key.id)
      })
    },

    adminGetUpstreamKey: ({ params }) => keyOf(database, params.id, params.keyId),

    adminUpdateUpstreamKey: async ({ params, body }) => {
      checkStorable(body)
      const { credential = null, name, weight, priority, max_concurrency: maxConcurrency, enabled } = body
      return database.transaction(async (tx) => {
        const { upstream } = await take(tx, params.id)
        const key = orNotFound(upstream.stored.keys.find(({ id }) => id === params.keyId) ?? null)
        const changed = {
          ...key,
          name: name ?? key.name,
          weight: weight ?? key.weight,
          priority: priority ?? key.priority,
          maxConcurrency: maxConcurrency ?? key.maxConcurrency,
          enabled: enabled ?? key.enabled,
        }
        // An unreadable credential must not prevent the check of the other fields.
        checkKey(book, upstream.stored, { ...changed, credential: credential ?? key.credential ?? 'unreadable' })
        await updateUpstreamKey(tx, seal, changed, credential)
        return keyOf(tx, params.id, params.keyId)
      })
    },

    adminDeleteUpstreamKey: async ({ params }) => {
      const { upstreams } = await read(database)
      if (upstreams.every(({ stored }) => stored.id !== params.id)) changeable(book, upstreams, params.id)
      if (!(await deleteUpstreamKey(database, params.id, params.keyId))) throw new GatewayError('NOT_FOUND')
      return null
    },
  }
}
