import type { Json } from '../tool-source.ts'

/** Adds the numbers of two usage objects, member by member. */
export function addUsage(one: Json | null, other: Json | null): Json | null {
  if (one === null || other === null) return one ?? other
  const sum: Record<string, unknown> = { ...one }
  for (const [name, value] of Object.entries(other)) {
    const before = sum[name]
    if (typeof value === 'number' && typeof before === 'number') sum[name] = before + value
    else if (isJson(value)) sum[name] = isJson(before) ? addUsage(before, value) : value
    else sum[name] = before ?? value
  }
  return sum
}

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function jsonOrNull(value: unknown): Json | null {
  return isJson(value) ? value : null
}

export function list(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isJson) : []
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function count(usage: Json | null, ...path: readonly string[]): number {
  let value: unknown = usage
  for (const name of path) value = jsonOrNull(value)?.[name]
  return typeof value === 'number' ? value : 0
}
