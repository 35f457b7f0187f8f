import type { OperationSpec } from '../operation.ts'
import { OPERATIONS } from './index.ts'
import type { OperationName } from './index.ts'

const ALL = Object.entries(OPERATIONS) as ReadonlyArray<readonly [OperationName, OperationSpec]>

/**
 * The operation that shows the one thing that `spec` shows or changes, whose answers carry an ETag; null where there is none:
 * of lists, of what is no JSON, and of what is made. What ends in a verb (`…/{id}/toggle`) is about what stands before it.
 */
export function resourceOf(spec: OperationSpec): OperationName | null {
  if (spec.method === 'POST') return null
  const shown = shownAt(spec.path) ?? shownAt(spec.path.replace(/\/[a-z-]+$/, ''))
  return spec.method !== 'GET' || shown?.[1] === spec ? (shown?.[0] ?? null) : null
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
