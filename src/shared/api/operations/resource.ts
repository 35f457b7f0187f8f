import type { OperationSpec } from '../operation.ts'
import { OPERATIONS } from './index.ts'
import type { OperationName } from './index.ts'

const ALL = Object.entries(OPERATIONS) as ReadonlyArray<readonly [OperationName, OperationSpec]>

/**
 * The operation that shows the resource that `spec` shows or changes; its answers carry an ETag. Null for lists, for answers that
 * are not JSON, and for POST. A path that ends in a verb (`…/{id}/toggle`) is about the resource before the verb.
 */
export function resourceOf(spec: OperationSpec): OperationName | null {
  if (spec.method === 'POST') return null
  const shown = shownAt(spec.path) ?? shownAt(spec.path.replace(/\/[a-z-]+$/, ''))
  return spec.method !== 'GET' || shown?.[1] === spec ? (shown?.[0] ?? null) : null
}

/** The operation that shows what `spec` changes: as `resourceOf`, and of a POST that changes the resource before its verb. */
export function changedResourceOf(spec: OperationSpec): OperationName | null {
  const isVerb = spec.method === 'POST' && spec.answer.status === 200
  return isVerb ? (shownAt(spec.path.replace(/\/[a-z-]+$/, ''))?.[0] ?? null) : resourceOf(spec)
}

function shownAt(path: string): (typeof ALL)[number] | undefined {
  return ALL.find(([, spec]) => spec.method === 'GET' && spec.path === path && isOneThing(spec))
}

function isOneThing({ answer, access }: OperationSpec): boolean {
  const { schema, media } = answer
  if (schema === null || media !== undefined || access === 'scraper') return false
  const { properties } = schema as { properties?: object }
  return properties !== undefined && !Object.hasOwn(properties, 'data')
}
