import type { JsonObject } from '../shared/core/json-object.ts'

/** Asks for JSON where a dialect has no field for it. */
export function jsonInstruction(): string {
  return 'Answer with one JSON object and nothing else: no text around it, no code fence.'
}

/** Asks for JSON of a schema where a model has no field for it. */
export function schemaInstruction(schema: JsonObject): string {
  return `${jsonInstruction()} It must match this JSON Schema:\n${JSON.stringify(schema)}`
}
