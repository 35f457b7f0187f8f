import type { BufferedAnswer } from '../../shared/core/dialect.ts'
import { failureOf } from '../common/failure.ts'
import { textBytes } from '../common/answer-text.ts'
import { asObject, valueAt } from '../common/json-value.ts'
import { failureOfChoices } from './stop-reason.ts'
import { usageOfChat } from './usage.ts'

/** Reads a buffered 200. Throws SyntaxError when it is not JSON. */
export function readAnswer(body: Buffer): BufferedAnswer {
  const value: unknown = JSON.parse(body.toString('utf8'))
  const usage = usageOfChat(value)
  const choices = valueAt(value, 'choices')
  // The provider's count wins, so the text is counted only when there is none.
  const observedTextBytes =
    usage === null && Array.isArray(choices)
      ? choices.reduce((sum: number, choice) => sum + textBytes(valueAt(choice, 'message')), 0)
      : 0
  if (asObject(value)?.['error']) return { usage, observedTextBytes, failure: failureOf(value), body: null }
  const failure = Array.isArray(choices)
    ? failureOfChoices(choices)
    : { message: failureOf(value).message, type: 'invalid_answer' }
  return { usage, observedTextBytes, failure, body: null }
}
