import type { BufferedAnswer, UpstreamFailure } from '../../shared/core/dialect.ts'
import type { Usage } from '../../shared/core/usage.ts'
import { failureOf } from './failure.ts'
import { asObject } from './json-value.ts'

/**
 * A good answer of an endpoint that generates no text.
 * @param shaped the body in the endpoint's shape; null when it had it already
 */
export function goodAnswer(usage: Usage | null, shaped: unknown): BufferedAnswer {
  return {
    usage,
    observedTextBytes: 0,
    failure: null,
    body: shaped === null ? null : Buffer.from(JSON.stringify(shaped)),
  }
}

/** A 200 that is not the expected answer. Its message is the provider's error, else any text in the body, else `problem`. */
export function brokenAnswer(value: unknown, problem: string): BufferedAnswer {
  return failedAnswer(brokenFailure(value, problem))
}

export function failedAnswer(failure: UpstreamFailure): BufferedAnswer {
  return { usage: null, observedTextBytes: 0, failure, body: null }
}

export function brokenFailure(value: unknown, problem: string): UpstreamFailure {
  return asObject(value)?.['error']
    ? failureOf(value)
    : { message: failureOf(value).message || problem, type: 'invalid_answer' }
}
