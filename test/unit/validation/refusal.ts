import { GatewayError } from '../../../src/shared/core/errors.ts'
import { createValidator } from '../../../src/front/validation/validate.ts'

const validator = createValidator({ maxDepth: 64, maxElements: 1_000_000 })

export const validate = validator.validate.bind(validator)

/** The error that a body meets; null when it passes. Whatever is not a GatewayError is a crash and goes on. */
export function refusal(endpoint: string, body: unknown): GatewayError | null {
  try {
    validate(endpoint, bytesOf(body))
    return null
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
}

/** Bytes as they are, a string as the text of a body, anything else as JSON. */
export function bytesOf(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}
