import type { JsonObject } from '../../shared/core/json-object.ts'
import { arrayOf, objects, textOr } from '../common/fields.ts'
import { asObject } from '../common/json-value.ts'
import { SchemaReferences } from './schema-references.ts'

// The service takes a subset of OpenAPI's schemas and refuses a whole request for one keyword that it does not know.

const TYPES: Readonly<Record<string, string>> = {
  string: 'STRING',
  number: 'NUMBER',
  integer: 'INTEGER',
  boolean: 'BOOLEAN',
  array: 'ARRAY',
  object: 'OBJECT',
}
const FORMATS: Readonly<Record<string, readonly string[]>> = {
  STRING: ['enum', 'date-time'],
  INTEGER: ['int32', 'int64'],
  NUMBER: ['float', 'double'],
}
/** Keywords that are copied unchanged. */
const TEXTS = ['title', 'description', 'pattern'] as const
const NUMBERS = [
  'minimum',
  'maximum',
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minProperties',
  'maxProperties',
] as const
/** Keywords whose meaning is kept, or that mean nothing to a model. */
const HARMLESS = new Set([
  ...TEXTS,
  ...NUMBERS,
  ...['type', 'enum', 'const', 'items', 'prefixItems', 'properties', 'required', 'anyOf', 'oneOf', 'allOf', 'nullable'],
  ...['format', 'default', 'example', 'propertyOrdering', 'exclusiveMinimum', 'exclusiveMaximum', '$ref'],
  ...[
    '$schema',
    '$id',
    '$comment',
    '$defs',
    'definitions',
    '$anchor',
    'deprecated',
    'examples',
    'readOnly',
    'writeOnly',
  ],
])
const MAX_DEPTH = 64
/** Limit for one schema, with all references followed. */
const MAX_NODES = 10_000

export interface CleanSchema {
  /** Null when there are no parameters. */
  readonly schema: JsonObject | null
  /** A restriction of values could not be expressed. */
  readonly lossy: boolean
}

type Node = Record<string, unknown>

/** Converts the schema of an answer to the service's subset. */
export function cleanSchema(schema: JsonObject): CleanSchema {
  const cleaner = new SchemaCleaner(schema)
  return { schema: cleaner.clean(schema, 0), lossy: cleaner.lossy }
}

/** Converts the schema of a tool's parameters, which are always an object. */
export function cleanParameters(schema: JsonObject): CleanSchema {
  const cleaner = new SchemaCleaner(schema)
  const clean = cleaner.clean({ type: 'object', ...schema }, 0)
  const merged = clean['anyOf'] === undefined ? clean : mergeVariants(objects(clean['anyOf']))
  const lossy = cleaner.lossy || merged !== clean
  if (merged['type'] !== 'OBJECT' || merged['properties'] === undefined) return { schema: null, lossy }
  return { schema: merged, lossy }
}

/** Allows the properties of all variants. Requires only those that every variant requires. */
function mergeVariants(variants: readonly JsonObject[]): Node {
  const properties: Node = {}
  let required: readonly unknown[] | null = null
  for (const variant of variants) {
    for (const [name, value] of Object.entries(asObject(variant['properties']) ?? {})) properties[name] ??= value
    const own = arrayOf(variant['required'])
    required = required === null ? own : required.filter((name) => own.includes(name))
  }
  const merged: Node = { type: 'OBJECT' }
  if (Object.keys(properties).length > 0) merged['properties'] = properties
  if (required !== null && required.length > 0) merged['required'] = required
  return merged
}

class SchemaCleaner {
  lossy = false
  readonly #references: SchemaReferences
  #nodes = 0

  constructor(root: JsonObject) {
    this.#references = new SchemaReferences(root)
  }

  clean(value: unknown, depth: number): Node {
    const written = asObject(value)
    if (written === null || depth > MAX_DEPTH || this.#nodes++ > MAX_NODES) {
      this.lossy = true
      return { type: 'STRING' }
    }
    const entered: string[] = []
    const clean = this.#cleanNode(this.#flatten(written, entered, depth), depth)
    for (const reference of entered) this.#references.leave(reference)
    return clean
  }

  /**
   * Merges a schema with its `allOf` and the targets of its references. The outer schema wins where they differ.
   * @param entered collects the references that the caller leaves after it has cleaned the result
   */
  #flatten(node: JsonObject, entered: string[], depth: number): JsonObject {
    const { $ref: reference, allOf, ...merged } = node as Node
    const parts = depth > MAX_DEPTH ? [] : objects(allOf)
    if (typeof reference === 'string') {
      const found = this.#references.enter(reference)
      if (found === null) {
        this.lossy = true
        merged['type'] ??= 'object'
      } else {
        entered.push(reference)
        parts.push(found)
      }
    }
    for (const part of parts) {
      const inner = this.#flatten(part, entered, depth + 1)
      for (const name in inner) merged[name] = mergedKeyword(name, merged[name], inner[name])
    }
    return merged
  }

  #cleanNode(node: JsonObject, depth: number): Node {
    for (const name in node) if (!HARMLESS.has(name) && isRestriction(name, node[name])) this.lossy = true
    const types = typesOf(node)
    const nullable = node['nullable'] === true || types.includes('null') || arrayOf(node['enum']).includes(null)
    const named = types.filter((type) => type !== 'null')
    const variants = [...arrayOf(node['anyOf']), ...arrayOf(node['oneOf'])]
    if (variants.length > 0) return this.#cleanVariants(node, variants, nullable, depth)
    if (named.length > 1) {
      return this.#cleanVariants(
        node,
        named.map((type) => ({ type })),
        nullable,
        depth,
      )
    }
    const clean: Node = { type: TYPES[named[0] ?? 'string'] ?? 'STRING' }
    if (nullable) clean['nullable'] = true
    copyPlain(node, clean)
    this.#cleanEnum(node, clean)
    if (clean['type'] === 'NUMBER' || clean['type'] === 'INTEGER') this.#cleanLimits(node, clean)
    if (clean['type'] === 'ARRAY') clean['items'] = this.#cleanItems(node, depth)
    if (clean['type'] === 'OBJECT') this.#cleanProperties(node, clean, depth)
    return clean
  }

  /** The service allows nothing beside `anyOf`, so shared keywords go into each variant. */
  #cleanVariants(node: JsonObject, variants: readonly unknown[], nullable: boolean, depth: number): Node {
    const { anyOf: _, oneOf: __, type, ...base } = node
    const shared = typeof type === 'string' ? { type, ...base } : base
    let isNullable = nullable
    const clean: Node[] = []
    for (const variant of variants) {
      const object = asObject(variant)
      if (object?.['type'] === 'null') isNullable = true
      else if (object === null) this.lossy = true
      else clean.push(this.clean({ ...object, allOf: [...arrayOf(object['allOf']), shared] }, depth + 1))
    }
    if (isNullable) for (const variant of clean) variant['nullable'] = true
    const [first] = clean
    if (first === undefined) return { type: 'STRING', nullable: true, ...describe(node) }
    return clean.length === 1 ? first : { anyOf: clean }
  }

  /** The service can enumerate only strings. The description lists other values. */
  #cleanEnum(node: JsonObject, clean: Node): void {
    const values = node['const'] === undefined ? arrayOf(node['enum']) : [node['const']]
    const given = values.filter((value) => value !== null)
    if (given.length === 0) return
    const texts = given.filter((value) => typeof value === 'string' && value !== '')
    if (clean['type'] === 'STRING' && texts.length > 0) {
      clean['enum'] = texts
      if (texts.length < given.length) this.lossy = true
      return
    }
    this.lossy = true
    const list = `One of: ${given.map((value) => JSON.stringify(value)).join(', ')}.`
    const description = textOr(clean['description'], '')
    clean['description'] = description === '' ? list : `${description} ${list}`
  }

  #cleanLimits(node: JsonObject, clean: Node): void {
    const step = clean['type'] === 'INTEGER' ? 1 : 0
    const least = node['exclusiveMinimum']
    const most = node['exclusiveMaximum']
    if (typeof least === 'number') clean['minimum'] = Math.max(least + step, numberOr(clean['minimum'], -Infinity))
    if (typeof most === 'number') clean['maximum'] = Math.min(most - step, numberOr(clean['maximum'], Infinity))
    if (step === 0 && (typeof least === 'number' || typeof most === 'number')) this.lossy = true
  }

  /** The service has one schema for all items of a tuple. */
  #cleanItems(node: JsonObject, depth: number): Node {
    const tuple = [...arrayOf(node['prefixItems']), ...arrayOf(node['items'])]
    if (tuple.length > 0) {
      this.lossy = true
      return this.clean({ anyOf: tuple }, depth + 1)
    }
    return asObject(node['items']) === null ? { type: 'STRING' } : this.clean(node['items'], depth + 1)
  }

  #cleanProperties(node: JsonObject, clean: Node, depth: number): void {
    const properties: Node = {}
    for (const [name, value] of Object.entries(asObject(node['properties']) ?? {})) {
      if (name !== '__proto__') properties[name] = this.clean(value, depth + 1)
    }
    if (Object.keys(properties).length === 0) return
    clean['properties'] = properties
    const required = arrayOf(node['required']).filter(
      (name) => typeof name === 'string' && Object.hasOwn(properties, name),
    )
    if (required.length > 0) clean['required'] = [...new Set(required)]
    const ordering = arrayOf(node['propertyOrdering']).filter((name) => typeof name === 'string')
    if (ordering.length > 0) clean['propertyOrdering'] = ordering
  }
}

/** The types that a schema names, else the type that its keywords belong to. */
function typesOf(node: JsonObject): readonly string[] {
  const { type } = node
  if (typeof type === 'string') return [type.toLowerCase()]
  const listed = arrayOf(type).filter((one) => typeof one === 'string')
  if (listed.length > 0) return listed.map((one) => one.toLowerCase())
  if (node['properties'] !== undefined || node['additionalProperties'] !== undefined) return ['object']
  if (node['items'] !== undefined || node['prefixItems'] !== undefined) return ['array']
  const sample = node['const'] ?? arrayOf(node['enum']).find((value) => value !== null)
  if (typeof sample === 'boolean') return ['boolean']
  return [typeof sample === 'number' ? 'number' : 'string']
}

function copyPlain(node: JsonObject, clean: Node): void {
  for (const name of TEXTS) if (typeof node[name] === 'string') clean[name] = node[name]
  for (const name of NUMBERS) if (typeof node[name] === 'number') clean[name] = node[name]
  for (const name of ['default', 'example'])
    if (node[name] !== undefined && node[name] !== null) clean[name] = node[name]
  if (FORMATS[textOr(clean['type'], '')]?.includes(textOr(node['format'], ''))) clean['format'] = node['format']
}

function mergedKeyword(name: string, outer: unknown, inner: unknown): unknown {
  if (outer === undefined) return inner
  if (name === 'properties') return { ...asObject(inner), ...asObject(outer) }
  return name === 'required' ? [...arrayOf(outer), ...arrayOf(inner)] : outer
}

function isRestriction(name: string, value: unknown): boolean {
  return name !== 'additionalProperties' || typeof value !== 'boolean'
}

function describe(node: JsonObject): Node {
  return typeof node['description'] === 'string' ? { description: node['description'] } : {}
}

function numberOr(value: unknown, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise
}
