import type { Answer } from '../../shared/core/answer.ts'
import type { Block } from '../../shared/core/content.ts'
import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import { failureOf } from '../common/failure.ts'
import { objects, restOf } from '../common/fields.ts'
import { asObject, valueAt } from '../common/json-value.ts'
import { pushBlock } from './parse-block.ts'
import { readStop } from './stop.ts'
import { readUsage } from './usage.ts'

const KNOWN = new Set(['output', 'stopReason', 'usage', 'metrics'])

/** Parses a body of Converse. */
export function parseAnswer(body: unknown): Answer | UpstreamFailure {
  const answer = asObject(body)
  const blocks = valueAt(answer, 'output', 'message', 'content')
  if (answer === null || !Array.isArray(blocks)) return { message: failureOf(body).message, type: 'invalid_answer' }
  const content: Block[] = []
  for (const block of objects(blocks)) pushBlock(content, block)
  const said = {
    hasCalls: content.some((block) => block.type === 'tool-call'),
    hasContent: content.some((block) => block.type !== 'thinking' && block.type !== 'redacted-thinking'),
  }
  const stop = readStop(answer['stopReason'], answer['additionalModelResponseFields'], said)
  if ('message' in stop) return stop
  return {
    from: 'bedrock-converse',
    id: '',
    model: '',
    created: null,
    content,
    stop,
    usage: readUsage(answer['usage']),
    nativeUsage: asObject(answer['usage']),
    extra: restOf(answer, KNOWN),
  }
}
