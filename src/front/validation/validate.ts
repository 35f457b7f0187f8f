import { isAscii, isUtf8 } from 'node:buffer'
import { GatewayError } from '../../shared/core/errors.ts'
import type { RequestBody } from '../../shared/core/request-body.ts'
import { affinityOf } from './affinity.ts'
import { estimatePromptTokens } from './estimate.ts'
import { fieldName } from '../../shared/core/field-error.ts'
import { findJsonFault } from './json-error.ts'
import { scanJson } from './json-scan.ts'
import type { NameProblem, ScanLimits } from './json-scan.ts'
import { createReaders } from './schema.ts'

export interface Validator {
  /**
   * Checks a body of the named endpoint, and reads the fields that routing and limits need. Pure; the result can be cloned or
   * moved between threads. Throws INVALID_ENCODING, INVALID_JSON, JSON_TOO_DEEP, JSON_TOO_LARGE, DUPLICATE_FIELD,
   * FORBIDDEN_FIELD or INVALID_FIELD.
   */
  validate(endpoint: string, body: Buffer): RequestBody
}

/** Create one validator per process or thread. */
export function createValidator(limits: ScanLimits): Validator {
  const readers = createReaders()

  return {
    validate(endpoint, body) {
      const readFields = readers.get(endpoint)
      if (readFields === undefined)
        throw new GatewayError('INTERNAL', { detail: `${endpoint} has no body to validate` })
      const ascii = isAscii(body)
      if (!ascii) refuseForeignEncoding(body)
      const scan = scanJson(body, limits)
      if (scan.exceeded !== null) throw exceededError(scan.exceeded, limits)
      const text = body.toString(ascii ? 'latin1' : 'utf8')
      const value = parse(text, body)
      if (scan.nameProblem !== null) throw nameError(scan.nameProblem)
      const fields = readFields(value)
      const estimatedPromptTokens = estimatePromptTokens(scan, body.length - text.length, fields.hasTools)
      return {
        bytes: body,
        members: scan.members,
        model: fields.model,
        stream: fields.stream,
        wantsUsage: fields.wantsUsage,
        maxOutputTokens: fields.maxOutputTokens,
        choices: fields.choices,
        namesServers: fields.namesServers,
        estimatedPromptTokens,
        affinity: affinityOf(value, estimatedPromptTokens),
        expected: fields.expected,
        tags: fields.tags,
      }
    },
  }
}

function refuseForeignEncoding(body: Buffer): void {
  if (!isUtf8(body)) throw new GatewayError('INVALID_ENCODING')
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) {
    throw new GatewayError('INVALID_JSON', { message: 'The body is not valid JSON: it begins with a byte order mark.' })
  }
}

function parse(text: string, body: Buffer): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    // The error has no cause, because the message of the cause quotes the body.
    const fault = findJsonFault(body)
    if (fault === null) throw new GatewayError('INVALID_JSON')
    const place = `line ${fault.line}, column ${fault.column} (byte ${fault.offset})`
    throw new GatewayError('INVALID_JSON', { message: `The body is not valid JSON: ${fault.problem} at ${place}.` })
  }
}

function exceededError(exceeded: 'depth' | 'elements', { maxDepth, maxElements }: ScanLimits): GatewayError {
  if (exceeded === 'depth') {
    return new GatewayError('JSON_TOO_DEEP', { message: `The body is nested more than ${maxDepth} levels deep.` })
  }
  return new GatewayError('JSON_TOO_LARGE', { message: `The body holds more than ${maxElements} names and values.` })
}

function nameError({ kind, pointer }: NameProblem): GatewayError {
  const field = fieldName(pointer)
  return kind === 'duplicate'
    ? new GatewayError('DUPLICATE_FIELD', { param: pointer, message: `${field} is given twice.` })
    : new GatewayError('FORBIDDEN_FIELD', { param: pointer, message: `${field} is not an allowed field name.` })
}
