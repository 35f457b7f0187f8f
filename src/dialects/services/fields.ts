import { GatewayError } from '../../shared/core/errors.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import type { ServiceRules } from '../../shared/core/service.ts'
import { FORBIDDEN_MEMBERS } from '../body-edits.ts'

/** What these say the client finds in its answer, whether the upstream has heard of them or not. */
const HONOURED: ReadonlySet<string> = new Set([
  'encoding_format',
  'response_format',
  'return_documents',
  'top_n',
  'async',
])

/** More of one request would hold a slot for too long. */
const MAX_CALLS = 32

/** The fields that are not `known`, as a client may have them sent on. */
export function otherFields(request: JsonObject, known: ReadonlySet<string>): JsonObject {
  const others: Record<string, unknown> = {}
  for (const name of Object.keys(request)) {
    const value = request[name]
    if (known.has(name) || value === null || FORBIDDEN_MEMBERS.has(name) || name === '__proto__') continue
    others[name] = value
  }
  return others
}

/** Adds those of `others` that the upstream knows, by its names; the names of the rest. */
export function carry(
  others: JsonObject,
  into: Record<string, unknown>,
  names: Readonly<Record<string, string>>,
): readonly string[] {
  const dropped: string[] = []
  for (const [name, value] of Object.entries(others)) {
    if (Object.hasOwn(names, name)) into[names[name] ?? name] = value
    else if (!HONOURED.has(name)) dropped.push(name)
  }
  return dropped
}

/** The body by the rules of one host. */
export function byRules(
  body: JsonObject,
  { fieldNames = {}, refusedFields = [] }: ServiceRules,
): {
  readonly body: JsonObject
  readonly dropped: readonly string[]
} {
  const ruled: Record<string, unknown> = {}
  const dropped: string[] = []
  for (const [name, value] of Object.entries(body)) {
    if (!refusedFields.includes(name))
      ruled[Object.hasOwn(fieldNames, name) ? (fieldNames[name] ?? name) : name] = value
    else if (!HONOURED.has(name)) dropped.push(name)
  }
  return { body: ruled, dropped }
}

/** `count` in parts of `most`, the last one of what is left. Throws UNSUPPORTED_FIELD, naming `field`, when they are too many. */
export function sizesOf(count: number, most: number, field: string): readonly number[] {
  const calls = Math.ceil(count / most)
  if (calls > MAX_CALLS) {
    throw new GatewayError('UNSUPPORTED_FIELD', {
      message: `The provider of this model takes ${most} at a time, and ${most * MAX_CALLS} are the most of one request: ${field} has ${count}.`,
      param: `/${field}`,
    })
  }
  return Array.from({ length: calls }, (_, call) => Math.min(most, count - call * most))
}
