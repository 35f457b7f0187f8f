import { expect } from 'vitest'
import type { BufferedAnswer } from '../../../../src/shared/core/dialect.ts'
import { GatewayError } from '../../../../src/shared/core/errors.ts'
import type { ServiceProtocol, ServiceRules } from '../../../../src/shared/core/service.ts'
import { buildCalls, readCalls } from '../../../../src/dialects/services/calls.ts'
import { createValidator } from '../../../../src/front/validation/validate.ts'
import type { Json } from '../../../support/plain-json.ts'

const validator = createValidator({ maxDepth: 64, maxElements: 1_000_000 })

export interface Asked {
  readonly bodies: readonly Json[]
  readonly sizes: readonly number[]
  readonly dropped: readonly string[]
  /** What the client gets when the calls are answered so. */
  readonly answered: (...answers: unknown[]) => BufferedAnswer
}

/** A client's request in the words of a service; its model is called `m` here and `u` there. */
export function ask(endpoint: string, protocol: ServiceProtocol, request: object, rules: ServiceRules = {}): Asked {
  const body = validator.validate(endpoint, Buffer.from(JSON.stringify({ model: 'm', ...request })))
  const { bodies, sizes, dropped, documents = null } = buildCalls(body.bytes, { protocol, rules, model: 'u' })
  const { expected } = body
  const reading = { protocol, model: 'm', created: 5, sizes, documents, expected, estimatedPromptTokens: 7 }
  return {
    bodies: bodies.map((bytes) => JSON.parse(bytes.toString())),
    sizes,
    dropped,
    answered: (...answers) => {
      const whole = answers.length === 1 ? answers[0] : answers
      return readCalls(Buffer.from(JSON.stringify(whole)), reading)
    },
  }
}

/** The body of a good answer. */
export function shown({ body, failure }: BufferedAnswer): Json {
  expect(failure).toBeNull()
  return JSON.parse(String(body))
}

/** The error that asking throws. */
export function refusalOf(asking: () => unknown): { readonly code: string; readonly param: string | null } {
  try {
    asking()
  } catch (cause) {
    if (cause instanceof GatewayError) return { code: cause.code, param: cause.param }
    throw cause
  }
  throw new Error('it was taken')
}
