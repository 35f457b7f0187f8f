import { randomUUID } from 'node:crypto'
import type { Static } from 'typebox'
import type { NewUpstreamKey } from '../../shared/api/operations/upstreams.ts'
import { ConfigError } from '../../shared/config/config-error.ts'
import { resolveStoredUpstream } from '../../shared/config/stored.ts'
import type { StoredUpstream, StoredUpstreamKey } from '../../shared/config/stored.ts'
import type { BookedUpstream, UpstreamBook } from '../../shared/config/upstream-book.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { pointerTo } from './validate-as-configuration.ts'

const MAX_KEYS = 10_000
const RANDOM_CHARACTERS = 8

/** Returns a key as it would be stored, unchecked. */
export function draftKey(
  upstreamId: string,
  key: Static<typeof NewUpstreamKey>,
): StoredUpstreamKey & { readonly credential: string } {
  const id = key.id ?? `${upstreamId}-${randomUUID().slice(0, RANDOM_CHARACTERS)}`
  const now = new Date()
  return {
    id,
    upstreamId,
    name: key.name ?? id,
    credential: key.credential,
    masked: '',
    weight: key.weight ?? 1,
    priority: key.priority ?? 0,
    maxConcurrency: key.max_concurrency ?? 1_000,
    enabled: key.enabled ?? true,
    createdAt: now,
    updatedAt: now,
  }
}

/** Throws INVALID_FIELD for a key that the configuration file could not contain. */
export function checkKey(book: UpstreamBook, upstream: StoredUpstream, key: StoredUpstreamKey): void {
  const alone = { ...upstream, keys: [key] }
  try {
    resolveStoredUpstream(alone, book)
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause
    const [list, , ...path] = cause.path
    if (list !== 'keys') {
      throw new GatewayError('CONFLICT', { message: `The upstream must be repaired first: ${cause.message}.`, cause })
    }
    const message = `${cause.message.replace('keys[0].', '')}.`
    throw new GatewayError('INVALID_FIELD', { message, param: pointerTo(path), cause })
  }
}

/** Throws CONFLICT for ids that keys of any upstream have. */
export function checkKeyIds(book: UpstreamBook, upstreams: readonly BookedUpstream[], draft: StoredUpstream): void {
  const configured = [...book.configured, ...book.simulated].flatMap(({ keys }) => keys)
  const stored = upstreams.flatMap(({ stored: { keys } }) => keys)
  if (stored.length + draft.keys.length > MAX_KEYS) {
    throw new GatewayError('CONFLICT', {
      message: `There are ${stored.length} upstream keys already; the limit is ${MAX_KEYS}.`,
    })
  }
  const taken = new Set([...configured, ...stored].map(({ id }) => id))
  for (const [index, { id }] of draft.keys.entries()) {
    if (taken.has(id)) {
      throw new GatewayError('CONFLICT', {
        message: 'There is a key with this id already.',
        param: pointerTo(['keys', index, 'id']),
      })
    }
    taken.add(id)
  }
}
