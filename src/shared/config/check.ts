import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { pathText, type Path, type Problem } from './config-error.ts'
import { isObject } from './is-object.ts'

/** The members of a JSON Schema that the configuration's schema uses. */
interface SchemaNode {
  readonly type?: string
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly patternProperties?: Readonly<Record<string, SchemaNode>>
  readonly required?: readonly string[]
  readonly items?: SchemaNode
  readonly anyOf?: readonly SchemaNode[]
  readonly enum?: readonly unknown[]
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly expects?: string
}

/** The first violation of `schema` in `value`, or null. */
export function findProblem(schema: TSchema, value: unknown): Problem | null {
  return findProblems(schema, value)[0] ?? null
}

/** All violations of `schema` in `value`. Each message names the key and the allowed values. */
export function findProblems(schema: TSchema, value: unknown): Problem[] {
  return problemsIn(schema, value, [])
}

/** The schema of the value at `path`; undefined for an unknown key. */
export function schemaAt(schema: TSchema, path: Path): TSchema | undefined {
  let node: SchemaNode | undefined = schema
  for (const step of path) {
    node = node.anyOf ? node.anyOf.find((branch) => branch.type === 'object') : node
    node = typeof step === 'number' ? node?.items : memberSchema(node, step)
    if (!node) return undefined
  }
  return node
}

function memberSchema(node: SchemaNode | undefined, name: string): SchemaNode | undefined {
  if (node?.properties && Object.hasOwn(node.properties, name)) return node.properties[name]
  return node?.patternProperties && Object.values(node.patternProperties)[0]
}

function problemsIn(schema: SchemaNode, value: unknown, path: Path): Problem[] {
  if (schema.anyOf) return problemsInUnion(schema, schema.anyOf, value, path)
  if (schema.type === 'object' && isObject(value)) return problemsInObject(schema, value, path)
  if (schema.type === 'array' && Array.isArray(value)) return problemsInList(schema, value, path)
  if (Value.Check(schema as TSchema, value)) return []
  const message = `${pathText(path) || 'the file'} must be ${expectation(schema)}${got(schema, value)}`
  return [{ path, part: 'value', message }]
}

/** Picks the branch by the type of the value, so that the message is about the branch that was meant. */
function problemsInUnion(schema: SchemaNode, branches: readonly SchemaNode[], value: unknown, path: Path): Problem[] {
  const meant = branches.find((branch) => branch.type === typeName(value))
  if (meant) return problemsIn(meant, value, path)
  return [{ path, part: 'value', message: `${pathText(path)} must be ${expectation(schema)}${got(schema, value)}` }]
}

function problemsInObject(schema: SchemaNode, value: Readonly<Record<string, unknown>>, path: Path): Problem[] {
  const problems = Object.entries(value).flatMap(([name, member]): Problem[] => {
    const memberPath = [...path, name]
    const known = memberSchema(schema, name)
    if (known) return problemsIn(known, member, memberPath)
    const names = Object.keys(schema.properties ?? {})
    const message = `${pathText(memberPath)} is not a known key${suggestion(name, names)}; allowed: ${names.join(', ')}`
    return [{ path: memberPath, part: 'key', message }]
  })
  const missing = (schema.required ?? []).filter((name) => !Object.hasOwn(value, name))
  return [
    ...problems,
    ...missing.map((name): Problem => {
      const message = `${pathText([...path, name])} is missing; it must be ${expectation(schema.properties?.[name] ?? {})}`
      return { path: [...path, name], part: 'key', message }
    }),
  ]
}

function problemsInList(schema: SchemaNode, value: readonly unknown[], path: Path): Problem[] {
  const problems = value.flatMap((item, index) => problemsIn(schema.items ?? {}, item, [...path, index]))
  if (value.length >= (schema.minItems ?? 0)) return problems
  return [...problems, { path, part: 'value', message: `${pathText(path)} must be ${expectation(schema)}` }]
}

/** The values that a schema allows, as the end of the sentence "it must be …". */
function expectation(schema: SchemaNode): string {
  if (schema.expects) return schema.expects
  if (schema.anyOf) return schema.anyOf.map(expectation).join(' or ')
  if (schema.enum) return `one of ${schema.enum.join(', ')}`
  switch (schema.type) {
    case 'integer':
      return `a whole number${range(schema)}`
    case 'number':
      return `a number${range(schema)}`
    case 'boolean':
      return 'true or false'
    case 'array':
      return schema.minItems ? 'a list of one item or more' : 'a list'
    case 'object':
      return 'a section with keys of its own'
    default:
      return schema.maxLength ? `a text of 1 to ${schema.maxLength} characters` : 'a text that is not empty'
  }
}

function range({ minimum, maximum }: SchemaNode): string {
  if (minimum === undefined) return ''
  return maximum === undefined || maximum === Number.MAX_SAFE_INTEGER
    ? ` of ${minimum} or more`
    : ` from ${minimum} to ${maximum}`
}

/** Never quotes a text: it may be a secret in the wrong place. */
function got(schema: SchemaNode, value: unknown): string {
  if (typeof value === 'string') {
    if (schema.enum) return suggestion(value, schema.enum.map(String))
    return value === '' ? ', not empty' : schema.type === 'string' ? '' : ', not a text'
  }
  if (typeof value === 'number' || typeof value === 'boolean') return `, not ${value}`
  if (value === null || value === undefined) return ', not empty'
  return Array.isArray(value) ? ', not a list' : ', not a section'
}

/** `; did you mean "port"?` when one of `names` is a small typing error away. */
export function suggestion(name: string, names: readonly string[]): string {
  const plain = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, '')
  let best: string | null = null
  let bestDistance = Math.max(1, Math.floor(name.length / 3)) + 1
  for (const candidate of names) {
    const distance = editDistance(plain(name), plain(candidate))
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance]
  }
  return best === null ? '' : `; did you mean "${best}"?`
}

/** Levenshtein distance, with two neighbours swapped counted as one edit. */
function editDistance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 8 || a.length > 64) return 64
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)]
  const at = (row: number, column: number): number => rows[row]?.[column] ?? 0
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    rows.push(row)
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      row.push(Math.min(replaced, at(i - 1, j) + 1, at(i, j - 1) + 1))
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (isSwap) row[j] = Math.min(at(i, j), at(i - 2, j - 2) + 1)
    }
  }
  return at(a.length, b.length)
}

function typeName(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  return value === null ? 'null' : typeof value
}
