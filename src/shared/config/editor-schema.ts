import { isObject } from './is-object.ts'
import { configSchema } from './schema.ts'

const REFERENCE = '\\$\\{'

/** The JSON Schema for editors: members with a default are optional, and any value may be a `${…}` text. */
export function editorSchema(): Record<string, unknown> {
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', ...lenient(configSchema) }
}

function lenient(schema: object): Record<string, unknown> {
  const copy: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(schema)) {
    if (Array.isArray(value)) copy[name] = value.map((item: unknown) => (isObject(item) ? lenient(item) : item))
    else copy[name] = isObject(value) && name !== 'default' ? lenient(value) : value
  }
  const { type, pattern, properties, required } = schema as {
    type?: string
    pattern?: string
    properties?: Record<string, { default?: unknown }>
    required?: string[]
  }
  if (type === 'integer' || type === 'number' || type === 'boolean') {
    copy['type'] = [type, 'string']
    copy['pattern'] = REFERENCE
  } else if (pattern !== undefined) {
    copy['pattern'] = `${pattern}|${REFERENCE}`
  }
  if (properties && required) {
    const written = required.filter((name) => properties[name]?.default === undefined)
    if (written.length > 0) copy['required'] = written
    else delete copy['required']
  }
  return copy
}
