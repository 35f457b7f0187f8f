import type { JsonObject } from '../../shared/core/json-object.ts'
import { asObject } from './json-value.ts'

export function textOr<Else>(value: unknown, otherwise: Else): string | Else {
  return typeof value === 'string' ? value : otherwise
}

export function numberOrNull(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}

export function booleanOrNull(value: unknown): boolean | null {
  return typeof value === 'boolean' ? value : null
}

export function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : []
}

/** The members that are neither `known` nor null; null when there are none. */
export function restOf(object: JsonObject, known: ReadonlySet<string>): JsonObject | null {
  let rest: Record<string, unknown> | null = null
  for (const name in object) {
    const value = object[name]
    if (known.has(name) || value === null || value === undefined || name === '__proto__') continue
    rest ??= {}
    rest[name] = value
  }
  return rest
}

/** Adds `value` under `name` unless it is null or undefined. */
export function put(into: Record<string, unknown>, name: string, value: unknown): void {
  if (value !== null && value !== undefined) into[name] = value
}

/** Adds the members of `extra` that `into` does not have. */
export function putExtra(into: Record<string, unknown>, extra: JsonObject | null): void {
  if (extra === null) return
  for (const name in extra) if (!Object.hasOwn(into, name)) into[name] = extra[name]
}

export function objects(value: unknown): JsonObject[] {
  const found: JsonObject[] = []
  for (const item of arrayOf(value)) {
    const object = asObject(item)
    if (object !== null) found.push(object)
  }
  return found
}

/** Keeps a schema of `true` or `false` among the other members: only its own dialect accepts it. */
export function withOddSchema(rest: JsonObject | null, name: string, schema: unknown): JsonObject | null {
  return typeof schema === 'boolean' ? { ...rest, [name]: schema } : rest
}
