import type { JsonObject } from '../../shared/core/json-object.ts'
import { asObject } from '../common/json-value.ts'

/**
 * Keywords that the service's schema compiler refuses. Without them the answer may break these limits; its shape still holds.
 */
const REFUSED = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'pattern',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
])
/** Members whose own members are names, not keywords. */
const NAMED = new Set(['properties', '$defs', 'definitions'])
const MAX_DEPTH = 64

/** Removes the refused keywords and closes objects that were left open. @param onLoss called for each removed keyword */
export function withoutKeywords(schema: JsonObject, onLoss: () => void): JsonObject {
  return asObject(cleanSchema(schema, onLoss, 0)) ?? {}
}

function cleanSchema(schema: unknown, onLoss: () => void, depth: number): unknown {
  if (Array.isArray(schema)) return schema.map((entry) => cleanSchema(entry, onLoss, depth + 1))
  const object = asObject(schema)
  if (object === null || depth > MAX_DEPTH) return schema
  const clean: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(object)) {
    if (REFUSED.has(keyword)) onLoss()
    else if (NAMED.has(keyword)) clean[keyword] = cleanNamed(value, onLoss, depth)
    else if (keyword === 'enum' || keyword === 'const' || keyword === 'default') clean[keyword] = value
    else clean[keyword] = cleanSchema(value, onLoss, depth + 1)
  }
  if (object['type'] === 'object' && object['additionalProperties'] === undefined) clean['additionalProperties'] = false
  return clean
}

function cleanNamed(value: unknown, onLoss: () => void, depth: number): unknown {
  const object = asObject(value)
  if (object === null) return value
  const clean: Record<string, unknown> = {}
  for (const [name, schema] of Object.entries(object)) clean[name] = cleanSchema(schema, onLoss, depth + 1)
  return clean
}
