import type { Answer } from '../../shared/core/answer.ts'
import { textBlock, thinkingBlock, toolCallBlock } from '../../shared/core/content.ts'
import type { Block } from '../../shared/core/content.ts'
import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { failureOf } from '../common/failure.ts'
import { objects, restOf, textOr } from '../common/fields.ts'
import { asObject, valueAt } from '../common/json-value.ts'
import { citesText, readCitation } from './citation.ts'
import { readStop } from './stop.ts'
import { NO_ARGUMENTS, TOOL_PLAN } from './tool-plan.ts'
import { readUsage } from './usage.ts'

const KNOWN = new Set(['id', 'message', 'finish_reason', 'usage'])

/** Parses a body of POST v2/chat. */
export function parseAnswer(body: unknown): Answer | UpstreamFailure {
  const answer = asObject(body)
  const message = asObject(answer?.['message'])
  if (answer === null || message === null) return { message: failureOf(body).message, type: 'invalid_answer' }
  const content = readContent(message)
  const stop = readStop(
    answer['finish_reason'],
    answer['error'],
    content.some((block) => block.type === 'tool-call'),
  )
  if ('message' in stop) return stop
  return {
    from: 'cohere-chat',
    id: textOr(answer['id'], ''),
    model: '',
    created: null,
    content,
    stop,
    usage: readUsage(answer['usage']),
    nativeUsage: asObject(answer['usage']),
    extra: restOf(answer, KNOWN),
  }
}

/** Reads thinking, text and calls. The plan of the calls counts as thinking. */
function readContent(message: JsonObject): Block[] {
  const content: Block[] = []
  const plan = textOr(message['tool_plan'], '')
  const citations = objects(message['citations']).filter(citesText)
  const parts = typeof message['content'] === 'string' ? [{ text: message['content'] }] : objects(message['content'])
  parts.forEach((part: JsonObject, index) => {
    if (typeof part['thinking'] === 'string') {
      if (part['thinking'] !== '') content.push(thinkingBlock(part['thinking']))
      return
    }
    const text = textOr(part['text'], '')
    if (text === '') return
    const cited = citations.filter(({ content_index: place }) => (place ?? indexOfText(parts)) === index)
    content.push({ ...textBlock(text), citations: cited.length === 0 ? null : cited.map(readCitation) })
  })
  if (plan !== '') content.push(thinkingBlock(plan, null, TOOL_PLAN))
  for (const call of objects(message['tool_calls'])) content.push(readCall(call))
  return content
}

function indexOfText(parts: readonly JsonObject[]): number {
  return parts.findIndex((part) => typeof part['text'] === 'string')
}

function readCall(call: JsonObject): Block {
  const input = valueAt(call, 'function', 'arguments')
  return toolCallBlock({
    id: textOr(call['id'], ''),
    name: textOr(valueAt(call, 'function', 'name'), ''),
    input: input === NO_ARGUMENTS ? '' : (input ?? ''),
  })
}
