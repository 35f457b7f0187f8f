import type { BufferedAnswer } from '../../shared/core/dialect.ts'
import { failureOf } from '../common/failure.ts'
import { textBytes } from '../common/answer-text.ts'
import { asObject, valueAt } from '../common/json-value.ts'
import { MessageUsage } from './usage.ts'

/**
 * Reads a buffered 200: a message, or the count of `count_tokens`, which costs nothing and has no usage. Throws SyntaxError
 * when it is not JSON.
 */
export function readAnswer(body: Buffer): BufferedAnswer {
  const value: unknown = JSON.parse(body.toString('utf8'))
  const counter = new MessageUsage()
  counter.apply(valueAt(value, 'usage'))
  const usage = counter.read()
  const content = valueAt(value, 'content')
  // The provider's count wins, so the text is counted only when there is none.
  const observedTextBytes = usage === null && Array.isArray(content) ? generatedBytes(content) : 0
  const answer = asObject(value)
  if (answer?.['type'] === 'error' || answer?.['error']) {
    return { usage, observedTextBytes, failure: failureOf(value), body: null }
  }
  const known = Array.isArray(content) || typeof answer?.['input_tokens'] === 'number'
  const failure = known ? null : { message: failureOf(value).message, type: 'invalid_answer' }
  return { usage, observedTextBytes, failure, body: null }
}

/** UTF-8 bytes of text, thinking and the input of tool calls (as JSON). Results of server tools do not count. */
function generatedBytes(content: readonly unknown[]): number {
  let sum = 0
  for (const block of content) {
    const type = valueAt(block, 'type')
    if (type === 'tool_use' || type === 'server_tool_use') {
      sum += Buffer.byteLength(JSON.stringify(valueAt(block, 'input') ?? ''))
    } else if (type === 'text' || type === 'thinking') {
      sum += textBytes({ text: valueAt(block, 'text'), thinking: valueAt(block, 'thinking') })
    }
  }
  return sum
}
