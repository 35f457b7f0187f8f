import type { CacheMark } from '../../shared/core/content.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { restOf, textOr } from './fields.ts'
import { asObject } from './json-value.ts'

const KNOWN = new Set(['type', 'ttl'])

/** Reads `cache_control`. Chat hosts in front of other dialects know it too. */
export function readCacheMark(value: unknown): CacheMark | null {
  const mark = asObject(value)
  return mark === null ? null : { ttl: textOr(mark['ttl'], null), extra: restOf(mark, KNOWN) }
}

export function writeCacheMark(mark: CacheMark | null): JsonObject | null {
  if (mark === null) return null
  return { type: 'ephemeral', ...(mark.ttl === null ? null : { ttl: mark.ttl }), ...mark.extra }
}
