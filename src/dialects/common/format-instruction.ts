import type { JsonObject } from '../../shared/core/json-object.ts'

/** Asks the model for JSON. Used when a dialect has no field for that. */
export function jsonInstruction(): string {
  return 'Answer with one JSON object and nothing else: no text around it, no code fence.'
}

/** Asks the model for JSON of a schema. Used when a model has no field for that. */
export function schemaInstruction(schema: JsonObject): string {
  return `${jsonInstruction()} It must match this JSON Schema:\n${JSON.stringify(schema)}`
}
