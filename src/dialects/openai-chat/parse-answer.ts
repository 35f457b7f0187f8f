import type { Answer } from '../../shared/core/answer.ts'
import { refusalBlock } from '../../shared/core/content.ts'
import type { Block, Citation } from '../../shared/core/content.ts'
import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { toolCallBlock } from '../../shared/core/content.ts'
import { failureOf } from '../common/failure.ts'
import { numberOrNull, objects, restOf, textOr } from '../common/fields.ts'
import { asObject, valueAt } from '../common/json-value.ts'
import { pushContent, readToolCall } from './parse-message.ts'
import { readReasoning, withSecondReasoning } from './reasoning.ts'
import { failureOfChoice, readStop } from './stop-reason.ts'
import { usageOfChat } from './usage.ts'

const KNOWN = new Set(['id', 'object', 'created', 'model', 'choices', 'usage'])
const KNOWN_CHOICE = new Set(['index', 'message', 'finish_reason'])
const KNOWN_MESSAGE = new Set([
  'role',
  'content',
  'refusal',
  'tool_calls',
  'function_call',
  'reasoning_content',
  'reasoning',
  'reasoning_details',
  'annotations',
])

/** Parses the first choice of a whole chat completion. */
export function parseAnswer(body: unknown): Answer | UpstreamFailure {
  const completion = asObject(body)
  if (completion === null || completion['error']) return failureOf(body)
  if (!Array.isArray(completion['choices'])) return { message: failureOf(body).message, type: 'invalid_answer' }
  const choices = objects(completion['choices'])
  const choice = choices.find((candidate) => candidate['index'] === 0) ?? choices[0]
  if (choice === undefined) return { message: '', type: 'invalid_answer' }
  const failure = failureOfChoice(choice)
  if (failure !== null) return failure
  // Blocked answers have no message.
  const message = asObject(choice['message']) ?? {}
  const content = readMessage(message)
  const hasCalls = content.some((block) => block.type === 'tool-call')
  const refuses = content.some((block) => block.type === 'refusal')
  return {
    from: 'openai-chat',
    id: textOr(completion['id'], ''),
    model: textOr(completion['model'], ''),
    created: numberOrNull(completion['created']),
    content,
    stop: readStop(textOr(choice['finish_reason'], null), hasCalls, refuses),
    usage: usageOfChat(body),
    nativeUsage: asObject(completion['usage']) ?? asObject(valueAt(completion, 'x_groq', 'usage')),
    extra: extraOf(completion, choice, message),
  }
}

function readMessage(message: JsonObject): readonly Block[] {
  const content: Block[] = []
  readReasoning(message, content)
  pushContent(content, message['content'])
  cite(content, objects(message['annotations']))
  if (typeof message['refusal'] === 'string' && message['refusal'] !== '') {
    content.push(refusalBlock(message['refusal']))
  }
  for (const call of objects(message['tool_calls'])) content.push(readToolCall(call))
  const legacy = asObject(message['function_call'])
  const name = textOr(legacy?.['name'], '')
  // Some services send an empty `function_call` with every answer.
  if (name !== '') content.push(toolCallBlock({ kind: 'legacy', id: '', name, input: legacy?.['arguments'] ?? '' }))
  return content
}

/** Annotations concern the whole text. */
function cite(content: Block[], annotations: readonly JsonObject[]): void {
  const at = content.findLastIndex((block) => block.type === 'text')
  const text = content[at]
  if (annotations.length > 0 && text?.type === 'text')
    content[at] = { ...text, citations: annotations.map(readCitation) }
}

export function readCitation(annotation: JsonObject): Citation {
  const citation = asObject(annotation['url_citation']) ?? {}
  return {
    url: textOr(citation['url'], null),
    title: textOr(citation['title'], null),
    text: null,
    start: numberOrNull(citation['start_index']),
    end: numberOrNull(citation['end_index']),
    native: annotation,
  }
}

/** Members without a place in the common form, by where they stand; null when there are none. */
function extraOf(completion: JsonObject, choice: JsonObject, message: JsonObject): JsonObject | null {
  const top = restOf(completion, KNOWN)
  const ofChoice = restOf(choice, KNOWN_CHOICE)
  const ofMessage = withSecondReasoning(restOf(message, KNOWN_MESSAGE), message)
  return top === null && ofChoice === null && ofMessage === null
    ? null
    : { completion: top, choice: ofChoice, message: ofMessage }
}
