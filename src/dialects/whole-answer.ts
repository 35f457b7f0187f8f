import type { BufferedAnswer, UpstreamFailure } from '../shared/core/dialect.ts'
import type { Usage } from '../shared/core/usage.ts'
import { failureOf } from './failure.ts'
import { asObject } from './json-value.ts'

/** A good answer of an endpoint that generates no text, brought to its shape; null: it had it already. */
export function goodAnswer(usage: Usage | null, shaped: unknown): BufferedAnswer {
  return {
    usage,
    observedTextBytes: 0,
    failure: null,
    body: shaped === null ? null : Buffer.from(JSON.stringify(shaped)),
  }
}

/** What a 200 holds that is not the answer asked for: the provider's error, else whatever it says. */
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
