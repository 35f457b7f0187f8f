import type { JsonObject } from '../shared/core/json-object.ts'
import { asObject } from './json-value.ts'

/** Holds the input of a call whose text is not JSON, so that it survives where only objects can be said. */
const RAW = '_raw_arguments'

/** The input of a call as JSON text; text stays as it was written. */
export function inputText(input: unknown): string {
  if (typeof input === 'string') return input
  return input === null || input === undefined ? '' : JSON.stringify(input)
}

/** The input of a call as an object: nothing is `{}`, what is no object is wrapped. */
export function inputObject(input: unknown): JsonObject {
  const object = asObject(input)
  if (object !== null) return object
  if (typeof input !== 'string') return input === null || input === undefined ? {} : { [RAW]: JSON.stringify(input) }
  if (input.trim() === '') return {}
  try {
    const parsed: unknown = JSON.parse(input)
    return parsed === null ? {} : (asObject(parsed) ?? { [RAW]: input })
  } catch {
    return { [RAW]: input }
  }
}
