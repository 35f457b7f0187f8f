import type { TSchema } from 'typebox'
import { pathText, type Path } from './config-error.ts'
import type { Override } from './env.ts'
import { isObject } from './is-object.ts'

/** One key of the configuration as people see it: its value, never that of a secret, and the place that it comes from. */
export interface ShownSetting {
  /** As the file names it: `log.level`. */
  readonly name: string
  /** Null: not set, a secret, or a list of entries. */
  readonly value: string | number | boolean | readonly string[] | null
  /** The value is not shown. */
  readonly isSecret: boolean
  /** Whether it has a value. */
  readonly isSet: boolean
  /** Of a list or table of entries: how many it has; null for others. */
  readonly entries: number | null
  readonly source: 'default' | 'file' | 'environment'
  /** The variable that sets it; null for other sources. */
  readonly variable: string | null
}

/** The members of a JSON Schema that the configuration's schema uses here. */
interface SchemaNode {
  readonly type?: string
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly patternProperties?: Readonly<Record<string, SchemaNode>>
  readonly items?: SchemaNode
  readonly writeOnly?: boolean
}

interface Sources {
  /** The file as it was read, without defaults; undefined: there is none. */
  readonly file: unknown
  readonly overrides: readonly Override[]
}

/** Login and password in an address, which a schema does not know of. */
const USER_INFO = /\/\/[^/@\s]*@/g

/** @param tree the configuration with its defaults, as the schema has it */
export function shownSettings(schema: TSchema, tree: unknown, sources: Sources): readonly ShownSetting[] {
  return settingsIn(schema, tree, sources, [])
}

function settingsIn(schema: SchemaNode, value: unknown, sources: Sources, path: Path): readonly ShownSetting[] {
  if (schema.properties === undefined) return [settingOf(schema, value, sources, path)]
  return Object.entries(schema.properties).flatMap(([name, member]) =>
    settingsIn(member, memberOf(value, name), sources, [...path, name]),
  )
}

function settingOf(schema: SchemaNode, value: unknown, { file, overrides }: Sources, path: Path): ShownSetting {
  const override = overrides.findLast((one) => covers(one.path, path) || covers(path, one.path))
  const isInFile = path.reduce<unknown>(memberOf, file) !== undefined
  const isSecret = schema.writeOnly === true
  const entries = entriesOf(schema, value)
  return {
    name: pathText(path),
    value: isSecret || entries !== null ? null : shownValue(value),
    isSecret,
    isSet: value !== undefined,
    entries,
    source: override !== undefined ? 'environment' : isInFile ? 'file' : 'default',
    variable: override?.variable ?? null,
  }
}

/** Entries are counted and not shown: they may hold secrets, and most have pages of their own. */
function entriesOf({ items, patternProperties }: SchemaNode, value: unknown): number | null {
  if (patternProperties !== undefined) return isObject(value) ? Object.keys(value).length : 0
  if (items === undefined || items.type === 'string') return null
  return Array.isArray(value) ? value.length : 0
}

function shownValue(value: unknown): ShownSetting['value'] {
  if (typeof value === 'string') return value.replace(USER_INFO, '//')
  if (typeof value === 'number' || typeof value === 'boolean') return value
  return Array.isArray(value) ? value.map((one) => String(one).replace(USER_INFO, '//')) : null
}

function memberOf(value: unknown, name: Path[number]): unknown {
  return isObject(value) && typeof name === 'string' && Object.hasOwn(value, name) ? value[name] : undefined
}

function covers(outer: Path, inner: Path): boolean {
  return outer.every((step, index) => step === inner[index])
}
