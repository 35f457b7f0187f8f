import { isAscii, isUtf8 } from 'node:buffer'
import type { EndpointName } from '../../shared/core/endpoint.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { RequestBody } from '../../shared/core/request-body.ts'
import { affinityOf } from './affinity.ts'
import { estimatePromptTokens } from './estimate.ts'
import { fieldError, fieldName } from '../../shared/core/field-error.ts'
import { findJsonFault } from './json-error.ts'
import { scanJson } from './json-scan.ts'
import type { NameProblem, ScanLimits } from './json-scan.ts'
import type { RequestFields } from './request-fields.ts'
import {
  chatFields,
  embeddingsFields,
  imagesFields,
  messagesFields,
  rerankFields,
  videoFields,
} from './request-fields.ts'
import { responsesFields } from './responses-fields.ts'
import { compileSchemas } from './schema.ts'

export interface Validator {
  /**
   * Checks a body and reads from it what routing and limits need. Pure, and the result can be cloned or moved between
   * threads. Throws INVALID_ENCODING, INVALID_JSON, JSON_TOO_DEEP, JSON_TOO_LARGE, DUPLICATE_FIELD, FORBIDDEN_FIELD or
   * INVALID_FIELD.
   */
  validate(endpoint: EndpointName, body: Buffer): RequestBody
}

/** Compiles the schemas; make one per process or thread. */
export function createValidator(limits: ScanLimits): Validator {
  const validators = compileSchemas()

  function readFields(endpoint: EndpointName, value: unknown): RequestFields {
    switch (endpoint) {
      case 'chat.completions':
        if (!validators.chat(value)) throw fieldError(validators.chat.errors?.[0])
        return chatFields(value)
      case 'responses':
        if (!validators.responses(value)) throw fieldError(validators.responses.errors?.[0])
        return responsesFields(value)
      case 'messages':
        if (!validators.messages(value)) throw fieldError(validators.messages.errors?.[0])
        return messagesFields(value, value.stream ?? false, value.max_tokens)
      case 'messages.count_tokens':
        if (!validators.countTokens(value)) throw fieldError(validators.countTokens.errors?.[0])
        return messagesFields(value, false, null)
      case 'embeddings':
        if (!validators.embeddings(value)) throw fieldError(validators.embeddings.errors?.[0])
        return embeddingsFields(value)
      case 'rerank':
        if (!validators.rerank(value)) throw fieldError(validators.rerank.errors?.[0])
        return rerankFields(value)
      case 'images.generations':
        if (!validators.images(value)) throw fieldError(validators.images.errors?.[0])
        return imagesFields(value)
      case 'video.generations':
        if (!validators.video(value)) throw fieldError(validators.video.errors?.[0])
        return videoFields(value)
      case 'video.get':
      case 'models.list':
      case 'models.get':
        throw new GatewayError('INTERNAL', { detail: `${endpoint} has no body to validate` })
    }
  }

  return {
    validate(endpoint, body) {
      const ascii = isAscii(body)
      if (!ascii) refuseForeignEncoding(body)
      const scan = scanJson(body, limits)
      if (scan.exceeded !== null) throw exceededError(scan.exceeded, limits)
      const text = body.toString(ascii ? 'latin1' : 'utf8')
      const value = parse(text, body)
      if (scan.nameProblem !== null) throw nameError(scan.nameProblem)
      const fields = readFields(endpoint, value)
      const estimatedPromptTokens = estimatePromptTokens(scan, body.length - text.length, fields.hasTools)
      return {
        bytes: body,
        members: scan.members,
        model: fields.model,
        stream: fields.stream,
        wantsUsage: fields.wantsUsage,
        maxOutputTokens: fields.maxOutputTokens,
        choices: fields.choices,
        estimatedPromptTokens,
        affinity: affinityOf(value, estimatedPromptTokens),
        expected: fields.expected,
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
    // The cause is dropped on purpose: its message quotes the body.
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
