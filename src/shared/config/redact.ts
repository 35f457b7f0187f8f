import { inspect } from 'node:util'

const REDACTED = '[redacted]'

/**
 * Makes `target` show `names` as `[redacted]` in JSON and in `util.inspect`; the values themselves stay readable.
 * Structured clones and spread copies show them again.
 */
export function redacting<T extends object>(target: T, names: ReadonlyArray<keyof T & string>): T {
  const shown = (): Record<string, unknown> => {
    const copy: Record<string, unknown> = Object.fromEntries(Object.entries(target))
    for (const name of names) {
      if (copy[name] !== null && copy[name] !== undefined) copy[name] = REDACTED
    }
    return copy
  }
  Object.defineProperty(target, 'toJSON', { value: shown })
  Object.defineProperty(target, inspect.custom, { value: shown })
  return target
}

/** Freezes a tree of plain objects and lists, all the way down. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const member of Object.values(value)) deepFreeze(member)
  return value
}
