import type { JsonObject } from '../../shared/core/json-object.ts'

export type { JsonObject }

/** The value if it is an object and not an array, else null. */
export function asObject(value: unknown): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null
}

/** The value at the path, or undefined as soon as one step is not an object. */
export function valueAt(value: unknown, ...path: readonly string[]): unknown {
  let here: unknown = value
  for (const name of path) {
    const object = asObject(here)
    if (object === null || !Object.hasOwn(object, name)) return undefined
    here = object[name]
  }
  return here
}
