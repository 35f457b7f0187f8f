import type { Json } from '../tool-source.ts'
import { isJson, localTarget } from '../../../shared/config/openapi-document.ts'

/** Deeper schemas, and those that contain themselves, end in one that takes anything. */
const MAX_DEPTH = 16
/** Values and members of all schemas of one operation. */
const MAX_NODES = 5_000
/** Members whose values are schemas, lists of schemas, and schemas by name. */
const ONE = new Set(['items', 'additionalProperties', 'not', 'contains', 'propertyNames', 'if', 'then', 'else'])
const LISTS = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems'])
const NAMED = new Set(['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'])
/** Members of OpenAPI that are none of JSON Schema, or mean something else there. */
const LEFT_OUT = new Set([
  '$ref',
  '$id',
  '$schema',
  '$anchor',
  '$dynamicAnchor',
  '$dynamicRef',
  '$defs',
  'definitions',
  'discriminator',
  'example',
  'externalDocs',
  'nullable',
  'xml',
])
/** A reference that was followed leads to the schema that stands in its place. */
const TEXTS = new Set(['description', 'title'])

/** The schemas of one document as plain JSON Schema: references are replaced by what they mean. */
export class PlainSchemas {
  readonly #document: Json
  #nodes = 0

  /** @param document with the schemas that local references name; other references mean anything */
  constructor(document: Json) {
    this.#document = document
  }

  /** True when schemas were cut off, because they were too many or too deep. */
  get isFull(): boolean {
    return this.#nodes > MAX_NODES
  }

  plain(schema: unknown): Json {
    return this.#plain(schema, [], 0)
  }

  #plain(schema: unknown, open: readonly string[], depth: number): Json {
    this.#nodes += 1
    if (!isJson(schema) || depth > MAX_DEPTH || this.isFull) return {}
    const { $ref: reference } = schema
    if (typeof reference === 'string') return this.#followed(schema, reference, open, depth)
    const plain: Record<string, unknown> = {}
    for (const [name, value] of Object.entries(schema)) {
      if (LEFT_OUT.has(name) || name.startsWith('x-')) continue
      set(plain, name, this.#member(name, value, open, depth))
    }
    withoutReadOnly(plain)
    return withNull(withExclusiveBounds(plain), schema)
  }

  #member(name: string, value: unknown, open: readonly string[], depth: number): unknown {
    if (ONE.has(name)) return typeof value === 'boolean' ? value : this.#plain(value, open, depth + 1)
    if (LISTS.has(name)) return Array.isArray(value) ? value.map((one) => this.#plain(one, open, depth + 1)) : []
    if (!NAMED.has(name)) return value
    const named: Record<string, unknown> = {}
    for (const [key, one] of Object.entries(isJson(value) ? value : {})) {
      set(named, key, this.#plain(one, open, depth + 1))
    }
    return named
  }

  #followed(schema: Json, reference: string, open: readonly string[], depth: number): Json {
    // A schema that contains itself.
    if (open.includes(reference)) return {}
    const target = this.#plain(localTarget(this.#document, reference), [...open, reference], depth + 1)
    const texts = Object.entries(schema).filter(([name]) => TEXTS.has(name))
    return { ...target, ...Object.fromEntries(texts) }
  }
}

/** OpenAPI 3.0 has booleans where JSON Schema has the bound itself. */
function withExclusiveBounds(schema: Record<string, unknown>): Record<string, unknown> {
  for (const [exclusive, inclusive] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (typeof schema[exclusive] !== 'boolean') continue
    if (schema[exclusive] && typeof schema[inclusive] === 'number') {
      schema[exclusive] = schema[inclusive]
      delete schema[inclusive]
    } else delete schema[exclusive]
  }
  return schema
}

/** `nullable` of OpenAPI 3.0. */
function withNull(plain: Record<string, unknown>, { nullable, type }: Json): Json {
  if (nullable !== true || typeof type !== 'string') return plain
  const { enum: values } = plain
  return {
    ...plain,
    type: [type, 'null'],
    ...(Array.isArray(values) && !values.includes(null) ? { enum: [...(values as unknown[]), null] } : {}),
  }
}

/** Members that only answers have. */
function withoutReadOnly(schema: Record<string, unknown>): void {
  const { properties, required } = schema
  if (!isJson(properties)) return
  const readOnly = Object.entries(properties).filter(([, one]) => isJson(one) && one['readOnly'] === true)
  if (readOnly.length === 0) return
  const names = new Set(readOnly.map(([name]) => name))
  schema['properties'] = Object.fromEntries(Object.entries(properties).filter(([name]) => !names.has(name)))
  if (Array.isArray(required)) schema['required'] = required.filter((name) => !names.has(String(name)))
}

/** A member of any name, also of `__proto__`. */
function set(object: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true })
}
