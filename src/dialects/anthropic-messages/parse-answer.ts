import type { Answer } from '../../shared/core/answer.ts'
import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import { failureOf } from '../common/failure.ts'
import { restOf, textOr } from '../common/fields.ts'
import { asObject } from '../common/json-value.ts'
import { readBlocks } from './parse-block.ts'
import { readStop } from './stop-reason.ts'
import { MessageUsage } from './usage.ts'

const KNOWN = new Set([
  'id',
  'type',
  'role',
  'model',
  'content',
  'stop_reason',
  'stop_sequence',
  'stop_details',
  'usage',
])

/** Parses a whole message. */
export function parseAnswer(body: unknown): Answer | UpstreamFailure {
  const message = asObject(body)
  if (message === null || message['type'] === 'error' || message['error']) return failureOf(body)
  if (!Array.isArray(message['content'])) return { message: failureOf(body).message, type: 'invalid_answer' }
  const content = readBlocks(message['content'])
  const usage = new MessageUsage()
  usage.apply(message['usage'])
  return {
    from: 'anthropic-messages',
    id: textOr(message['id'], ''),
    model: textOr(message['model'], ''),
    created: null,
    content,
    stop: readStop(
      textOr(message['stop_reason'], null),
      textOr(message['stop_sequence'], null),
      asObject(message['stop_details']),
      content.some((block) => block.type === 'tool-call'),
    ),
    usage: usage.read(),
    nativeUsage: asObject(message['usage']),
    extra: restOf(message, KNOWN),
  }
}
