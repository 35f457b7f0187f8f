import { isRecord, type JsonObject } from './json.ts'

const MAX_DEPTH = 8

/** A plausible value for a JSON Schema: its const, default, first example or first enum value, else a value of its type. */
export function exampleOf(schema: unknown): unknown {
  const made = make(schema, isRecord(schema) ? schema : {}, 0)
  return isRecord(made) ? made : {}
}

function make(schema: unknown, root: JsonObject, depth: number): unknown {
  if (!isRecord(schema) || depth > MAX_DEPTH) return null
  if (typeof schema['$ref'] === 'string') return make(resolve(schema['$ref'], root), root, depth + 1)
  if ('const' in schema) return schema['const']
  if ('default' in schema) return schema['default']
  for (const list of ['examples', 'enum']) {
    const values = schema[list]
    if (Array.isArray(values) && values.length > 0) return values[0]
  }
  for (const list of ['anyOf', 'oneOf', 'allOf']) {
    const options = schema[list]
    if (Array.isArray(options) && options.length > 0) return make(options[0], root, depth + 1)
  }
  const type: unknown = Array.isArray(schema['type']) ? schema['type'][0] : schema['type']
  switch (type ?? (isRecord(schema['properties']) ? 'object' : 'string')) {
    case 'object':
      return makeObject(schema, root, depth)
    case 'array':
      return Array.from({ length: Math.max(1, Math.min(8, Number(schema['minItems'] ?? 1))) }, () =>
        make(schema['items'] ?? { type: 'string' }, root, depth + 1),
      )
    case 'integer':
    case 'number':
      return makeNumber(schema)
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return makeString(schema)
  }
}

function makeObject(schema: JsonObject, root: JsonObject, depth: number): JsonObject {
  const properties = isRecord(schema['properties']) ? schema['properties'] : {}
  const required: unknown[] = Array.isArray(schema['required']) ? schema['required'] : []
  const names = required.length > 0 ? required.filter((name) => typeof name === 'string') : Object.keys(properties)
  const made: [string, unknown][] = []
  for (const name of names) made.push([name, make(properties[name] ?? { type: 'string' }, root, depth + 1)])
  return Object.fromEntries(made)
}

function makeNumber(schema: JsonObject): number {
  if (typeof schema['minimum'] === 'number') return schema['minimum']
  if (typeof schema['exclusiveMinimum'] === 'number') return schema['exclusiveMinimum'] + 1
  return typeof schema['maximum'] === 'number' ? Math.min(1, schema['maximum']) : 1
}

const FORMATS: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  time: '12:30:00Z',
  'date-time': '2026-01-31T12:30:00Z',
  email: 'ada@example.com',
  uri: 'https://example.com/',
  uuid: '5f0c6c2e-3a49-4a7e-9c55-0d2f1b8f6a11',
  ipv4: '192.0.2.1',
}

function makeString(schema: JsonObject): string {
  const text = FORMATS[typeof schema['format'] === 'string' ? schema['format'] : ''] ?? 'example'
  const least = typeof schema['minLength'] === 'number' ? Math.min(schema['minLength'], 1000) : 0
  const most = typeof schema['maxLength'] === 'number' ? schema['maxLength'] : Infinity
  return text.padEnd(least, 'x').slice(0, most)
}

function resolve(reference: string, root: JsonObject): unknown {
  if (!reference.startsWith('#')) return null
  let place: unknown = root
  for (const step of reference.slice(1).split('/').filter(Boolean)) {
    if (!isRecord(place)) return null
    place = place[step.replaceAll('~1', '/').replaceAll('~0', '~')]
  }
  return place
}
