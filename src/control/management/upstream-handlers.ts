import type { UPSTREAMS } from '../../shared/api/operations/upstreams.ts'
import { resolveStoredUpstream } from '../../shared/config/stored.ts'
import type { StoredUpstream } from '../../shared/config/stored.ts'
import type { Book, BookedUpstream, UpstreamBook } from '../../shared/config/upstream-book.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Seal } from '../../shared/runtime/seal.ts'
import type { ProbeUpstream } from '../../shared/core/upstream-probe.ts'
import type { Database, Queryable } from '../store/database.ts'
import { deleteUpstream, insertUpstreamKey, listStored, lockStored, putUpstream } from '../store/upstreams.ts'
import type { Handlers } from './call.ts'
import { validateAsConfiguration, checkStorable } from './validate-as-configuration.ts'
import { orNotFound } from './or-not-found.ts'
import { offsetOf, pageOf } from './pages.ts'
import { checkKeyIds, draftKey } from './upstream-keys.ts'
import { probedDeployment } from './upstream-probe.ts'
import { booked, shownUpstreams } from './upstream-views.ts'

const MAX_UPSTREAMS = 1_000

export interface UpstreamParts {
  readonly database: Database
  readonly book: UpstreamBook
  /** Seals and opens credentials. */
  readonly seal: Seal
  readonly tryUpstream: ProbeUpstream
}

type Names = Exclude<keyof typeof UPSTREAMS, `${string}UpstreamKey${string}`>

/** Hosts that serve models. Upstreams of the configuration are shown here, and changed only in the configuration. */
export function upstreamHandlers({ database, book, seal, tryUpstream }: UpstreamParts): Handlers<Names> {
  const read = async (queryable: Queryable): Promise<Book> => book.merge(await listStored(queryable, seal))

  /** Locks and returns the upstream for a change, until the transaction ends. Throws CONFLICT for an upstream of the configuration. */
  const take = async (tx: Queryable, id: string): Promise<BookedUpstream> => {
    await lockStored(tx)
    const { upstreams } = await read(tx)
    return changeable(book, upstreams, id)
  }

  return {
    adminListUpstreams: async ({ query }) => {
      const all = shownUpstreams(book, await read(database))
      const { offset, limit } = offsetOf(query)
      return pageOf(all.slice(offset, offset + limit), all.length, query, (shown) => shown)
    },

    adminCreateUpstream: async ({ body }) => {
      const { id, enabled = true, headers = {}, keys: newKeys = [], ...entry } = body
      checkStorable(body)
      const keys = newKeys.map((key) => draftKey(id, key))
      const now = new Date()
      const draft = { id, entry, headers, enabled, keys, createdAt: now, updatedAt: now }
      validateAsConfiguration(() => resolveStoredUpstream(draft, book))
      const shown = await database.transaction(async (tx) => {
        await lockStored(tx)
        const { upstreams } = await read(tx)
        checkRoom(book, upstreams, id)
        checkKeyIds(book, upstreams, draft)
        await putUpstream(tx, seal, draft)
        for (const key of keys) await insertUpstreamKey(tx, seal, key)
        return bookedOf(await read(tx), id)
      })
      return booked(shown)
    },

    adminGetUpstream: async ({ params }) => {
      const all = shownUpstreams(book, await read(database))
      return orNotFound(all.find(({ id }) => id === params.id) ?? null)
    },

    adminUpdateUpstream: async ({ params, body }) => {
      checkStorable(body)
      const shown = await database.transaction(async (tx) => {
        const { stored } = await take(tx, params.id)
        const changed = changedBy(stored, body)
        validateAsConfiguration(() => resolveStoredUpstream(changed, book))
        await putUpstream(tx, seal, { ...changed, headers: changed.headers ?? {} })
        return bookedOf(await read(tx), params.id)
      })
      return booked(shown)
    },

    adminDeleteUpstream: async ({ params }) => {
      const { upstreams } = await read(database)
      if (upstreams.every(({ stored }) => stored.id !== params.id)) changeable(book, upstreams, params.id)
      if (!(await deleteUpstream(database, params.id))) throw new GatewayError('NOT_FOUND')
      return null
    },

    adminTestUpstream: async ({ params, body, signal }) => {
      const deployment = probedDeployment(book, await read(database), params.id, body)
      const { ok, status, latencyMs, error } = await tryUpstream(deployment, signal)
      const { key, upstreamModel } = deployment
      return {
        ok,
        status,
        latency_ms: latencyMs,
        model: upstreamModel,
        key_id: key.id,
        // The detail is left out: an upstream may be an internal server, whose responses must not leak.
        error: error === null ? null : { code: error.code, message: error.message },
      }
    },
  }
}

/** Throws NOT_FOUND, and CONFLICT for an upstream of the configuration. */
export function changeable(book: UpstreamBook, upstreams: readonly BookedUpstream[], id: string): BookedUpstream {
  if (isConfigured(book, id)) {
    throw new GatewayError('CONFLICT', { message: 'This upstream comes from the configuration: change it there.' })
  }
  return orNotFound(upstreams.find(({ stored }) => stored.id === id) ?? null)
}

function isConfigured(book: UpstreamBook, id: string): boolean {
  return [...book.configured, ...book.simulated].some((upstream) => upstream.id === id)
}

function checkRoom(book: UpstreamBook, upstreams: readonly BookedUpstream[], id: string): void {
  if (isConfigured(book, id) || upstreams.some(({ stored }) => stored.id === id)) {
    throw new GatewayError('CONFLICT', { message: 'There is an upstream with this id already.', param: '/id' })
  }
  if (upstreams.length >= MAX_UPSTREAMS) {
    throw new GatewayError('CONFLICT', { message: `There are ${MAX_UPSTREAMS} upstreams already, which is the limit.` })
  }
}

function bookedOf({ upstreams }: Book, id: string): BookedUpstream {
  return orNotFound(upstreams.find(({ stored }) => stored.id === id) ?? null)
}

type Change = Parameters<Handlers<Names>['adminUpdateUpstream']>[0]['body']

/** A missing field keeps its value; null removes it. */
function changedBy(stored: StoredUpstream, { headers, enabled = stored.enabled, ...given }: Change): StoredUpstream {
  const members = Object.entries({ ...stored.entry, ...given }).filter(([, value]) => value !== null)
  return {
    ...stored,
    entry: Object.fromEntries(members),
    headers: headers === undefined ? stored.headers : (headers ?? {}),
    enabled,
  }
}
