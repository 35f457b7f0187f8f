import type { JsonObject } from '../../shared/core/json-object.ts'
import { asObject } from './json-value.ts'

/** The member that holds call input that is not JSON, where only objects are allowed. */
const RAW = '_raw_arguments'

/** The input of a call as JSON text. A text stays unchanged. */
export function inputText(input: unknown): string {
  if (typeof input === 'string') return input
  return input === null || input === undefined ? '' : JSON.stringify(input)
}

/** The input of a call as an object. Missing input becomes `{}`; other values are wrapped. */
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
