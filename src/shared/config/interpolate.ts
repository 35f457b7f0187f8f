import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { TSchema } from 'typebox'
import { schemaAt } from './check.ts'
import { isObject } from './is-object.ts'
import { attempt } from './config-error.ts'
import type { Fail, Path } from './config-error.ts'
import { parseText } from './document.ts'
import { readFailure } from './read-failure.ts'

const REFERENCE = /\$\$\{|\$\{([^}]*)\}/g
const VARIABLE = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([\s\S]*))?$/

export interface InterpolationOptions {
  readonly schema: TSchema
  readonly env: Readonly<Record<string, string | undefined>>
  /** Base of relative paths in `${file:…}`. */
  readonly cwd: string
  readonly fail: Fail
  /** Gets the path of each file that a text refers to, before it is read. */
  readonly onFile?: (file: string) => void
}

/**
 * A copy of `value` that replaces `${VAR}`, `${VAR:-default}` and `${file:path}` in every string and leaves out members
 * without a value. A string in the place of a number, boolean or list is converted to it.
 */
export function interpolate(value: unknown, options: InterpolationOptions, path: Path = []): unknown {
  if (typeof value === 'string') return attempt(options.fail, () => interpolateText(value, options, path), undefined)
  if (Array.isArray(value)) return value.map((item, index) => interpolate(item, options, [...path, index]))
  if (!isObject(value)) return value
  // Entries, not assignment: a member named __proto__ must stay a member, to be refused as an unknown key.
  const members = Object.entries(value)
    .map(([name, member]): [string, unknown] => [name, interpolate(member, options, [...path, name])])
    .filter(([, member]) => member !== null && member !== undefined)
  return Object.fromEntries(members)
}

/** Converts a text from outside the file to the type that `schema` wants. */
export function coerceText(schema: TSchema | undefined, text: string): unknown {
  const { type, items } = (schema ?? {}) as { type?: string; items?: { type?: string } }
  switch (type) {
    case 'integer':
    case 'number':
    case 'boolean':
    case 'object':
      return parsedOr(text)
    case 'array':
      return items?.type === 'string' && !text.trimStart().startsWith('[') ? commaList(text) : parsedOr(text)
    default:
      return text
  }
}

function interpolateText(text: string, options: InterpolationOptions, path: Path): unknown {
  if (!text.includes('${')) return text
  const replaced = text.replace(REFERENCE, (match, reference: string | undefined) =>
    reference === undefined ? '${' : lookUp(reference, options, path, match),
  )
  return coerceText(schemaAt(options.schema, path), replaced)
}

function lookUp(reference: string, options: InterpolationOptions, path: Path, match: string): string {
  const { env, cwd } = options
  const fail: Fail = options.fail
  if (reference.startsWith('file:')) {
    const file = reference.slice('file:'.length)
    options.onFile?.(resolve(cwd, file))
    try {
      return readFileSync(resolve(cwd, file), 'utf8').replace(/\r?\n$/, '')
    } catch (cause) {
      return fail(path, `the file ${file} cannot be read (${readFailure(cause)})`)
    }
  }
  const [, name, fallback] = VARIABLE.exec(reference) ?? []
  if (name === undefined) {
    return fail(path, `${match} is not understood; use \${NAME}, \${NAME:-default} or \${file:/path}`)
  }
  const value = env[name]
  if (fallback !== undefined) return value === undefined || value === '' ? fallback : value
  return value ?? fail(path, `the environment variable ${name} is not set; set it or write \${${name}:-default}`)
}

function parsedOr(text: string): unknown {
  const parsed = parseText(text)
  return parsed === undefined ? text : parsed
}

function commaList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}
