import type { Target } from '../../shared/core/codec.ts'
import type { OutputFormat } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { asObject } from '../common/json-value.ts'
import { arrayOf, put } from '../common/fields.ts'
import { jsonInstruction, schemaInstruction } from '../common/format-instruction.ts'
import type { DroppedFields } from '../dropped-fields.ts'

const SCHEMA_NAME = 'output'

/** The instruction for a format that the upstream has no field for; null when none is needed. */
export function asksForJson(format: OutputFormat | null, target: Target): string | null {
  if (format?.type === 'json' && !target.takesJsonMode) return jsonInstruction()
  return format?.type === 'schema' && target.schemaOutput !== 'native' ? schemaInstruction(format.schema) : null
}

/** `response_format`; null when there is no format, or when an instruction asks for it. */
export function writeFormat(
  format: OutputFormat | null,
  target: Target,
  droppedFields: DroppedFields,
): JsonObject | null {
  if (format === null) return null
  if (format.type !== 'schema') return format.type === 'json' && target.takesJsonMode ? { type: 'json_object' } : null
  if (target.schemaOutput !== 'native') {
    droppedFields.drop('output_config.format')
    return target.takesJsonMode ? { type: 'json_object' } : null
  }
  const schema: Record<string, unknown> = { name: format.name ?? SCHEMA_NAME }
  put(schema, 'description', format.description)
  schema['schema'] = format.schema
  schema['strict'] = format.strict ?? fitsStrict(format.schema, 0)
  return { type: 'json_schema', json_schema: schema }
}

const MAX_DEPTH = 32

/** Strict mode requires that every object is closed and that all of its properties are required. */
function fitsStrict(schema: unknown, depth: number): boolean {
  if (Array.isArray(schema)) return schema.every((entry) => fitsStrict(entry, depth + 1))
  const object = asObject(schema)
  if (object === null) return true
  if (depth > MAX_DEPTH) return false
  const properties = asObject(object['properties'])
  if (object['type'] === 'object' || properties !== null) {
    const required = new Set(arrayOf(object['required']))
    if (object['additionalProperties'] !== false) return false
    if (!Object.keys(properties ?? {}).every((name) => required.has(name))) return false
    if (!Object.values(properties ?? {}).every((property) => fitsStrict(property, depth + 1))) return false
  }
  if (!fitsStrict(object['items'], depth + 1) || !fitsStrict(object['anyOf'], depth + 1)) return false
  const named = asObject(object['$defs']) ?? asObject(object['definitions'])
  return named === null || Object.values(named).every((inner) => fitsStrict(inner, depth + 1))
}
