import { parseDocument } from 'yaml'
import { GatewayError } from '../core/errors.ts'

type Json = Readonly<Record<string, unknown>>

/** A longer text is not read. */
export const MAX_DOCUMENT_BYTES = 1024 * 1024
/** YAML can repeat what it has named: a bomb of a few lines. */
const MAX_ALIASES = 100

/** Reads an OpenAPI document of version 3.0 or 3.1, in JSON or YAML. Throws INVALID_FIELD, which says what is wrong. */
export function readDocument(text: string, param: string): Json {
  if (Buffer.byteLength(text) > MAX_DOCUMENT_BYTES) {
    throw wrong(param, `The OpenAPI document is larger than ${MAX_DOCUMENT_BYTES} bytes.`)
  }
  const value = valueOf(text, param)
  if (!isJson(value)) throw wrong(param, 'The OpenAPI document must be an object.')
  if (value['swagger'] !== undefined) {
    throw wrong(param, 'Swagger 2.0 is not read: convert the document to OpenAPI 3.0 or 3.1 first.')
  }
  if (!/^3[.][01]([.]|$)/.test(versionOf(value))) throw wrong(param, 'openapi must be 3.0 or 3.1.')
  if (!isJson(value['paths'])) throw wrong(param, 'The OpenAPI document has no paths.')
  return value
}

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value at a local reference, `#/components/…`. Undefined: there is none, or the reference is not local. */
export function localTarget(document: Json, reference: string): unknown {
  if (!reference.startsWith('#/')) return undefined
  let value: unknown = document
  for (const step of reference.slice(2).split('/')) {
    const name = unescaped(step)
    const isThere = typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    if (!isThere) return undefined
    value = (value as Json)[name]
  }
  return value
}

/** YAML reads a version without quotes as a number. */
function versionOf({ openapi }: Json): string {
  return typeof openapi === 'string' || typeof openapi === 'number' ? String(openapi) : ''
}

function valueOf(text: string, param: string): unknown {
  try {
    if (/^\s*[{[]/.test(text)) return JSON.parse(text)
  } catch {
    // It may be YAML that begins with a bracket.
  }
  const document = parseDocument(text, { logLevel: 'silent', uniqueKeys: true })
  const [error] = document.errors
  if (error !== undefined) {
    const [{ line, col } = { line: 0, col: 0 }] = error.linePos ?? []
    throw wrong(param, `The OpenAPI document is neither JSON nor YAML: an error at line ${line}, column ${col}.`)
  }
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES })
  } catch {
    throw wrong(param, 'The OpenAPI document repeats itself by too many aliases.')
  }
}

function unescaped(step: string): string {
  let text = step
  try {
    text = decodeURIComponent(step)
  } catch {
    // A percent sign that stands for itself.
  }
  return text.replaceAll('~1', '/').replaceAll('~0', '~')
}

function wrong(param: string, message: string): GatewayError {
  return new GatewayError('INVALID_FIELD', { param, message })
}
