import type { BufferedAnswer } from '../../core/dialect.ts'
import { emptyUsage } from '../../core/usage.ts'
import { asObject } from '../json-value.ts'
import { brokenAnswer } from '../whole-answer.ts'

/** Reads the answer to the creation of a job: its id. No tokens are counted. Throws SyntaxError when it is not JSON. */
export function readAnswer(body: Buffer): BufferedAnswer {
  const value: unknown = JSON.parse(body.toString('utf8'))
  const answer = asObject(value)
  const id = answer?.['id']
  if (answer === null || answer['error'] || typeof id !== 'string' || id === '') return brokenAnswer(value, 'no job')
  return { usage: emptyUsage(), observedTextBytes: 0, failure: null, body: null, job: id }
}
