import { GatewayError } from '../../shared/core/errors.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import type { ServiceRules } from '../../shared/core/service.ts'
import { FORBIDDEN_MEMBERS } from '../common/body-edits.ts'

/** The gateway applies these fields to the answer, whether the upstream knows them or not. */
const HONOURED: ReadonlySet<string> = new Set([
  'encoding_format',
  'response_format',
  'return_documents',
  'top_n',
  'async',
])

/** More calls for one request would hold a slot for too long. */
const MAX_CALLS = 32

/** The fields that are not `known` and that may be sent to the upstream. */
export function otherFields(request: JsonObject, known: ReadonlySet<string>): JsonObject {
  const others: Record<string, unknown> = {}
  for (const name of Object.keys(request)) {
    const value = request[name]
    if (known.has(name) || value === null || FORBIDDEN_MEMBERS.has(name) || name === '__proto__') continue
    others[name] = value
  }
  return others
}

/** Copies those of `others` that the upstream knows into `into`, under its names. Returns the names of the rest. */
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

/** Applies the rules of one host to the body. */
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

/** Splits `count` into calls of at most `most`. Throws UNSUPPORTED_FIELD, naming `field`, when there are too many. */
export function sizesOf(count: number, most: number, field: string): readonly number[] {
  const calls = Math.ceil(count / most)
  if (calls > MAX_CALLS) {
    throw new GatewayError('UNSUPPORTED_FIELD', {
      message: `${field} has ${count}, but may have at most ${most * MAX_CALLS}: the provider of this model takes ${most} for each call, and the gateway makes at most ${MAX_CALLS} calls for one request.`,
      param: `/${field}`,
    })
  }
  return Array.from({ length: calls }, (_, call) => Math.min(most, count - call * most))
}
