import type { Answer } from '../../shared/core/answer.ts'
import type { AnswerOptions, BuiltAnswer } from '../../shared/core/codec.ts'
import type { Citation, ToolCallBlock } from '../../shared/core/content.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { answerId } from '../common/answer-id.ts'
import { estimatedUsage, textLength } from '../common/estimate-tokens.ts'
import { put, putExtra } from '../common/fields.ts'
import { asObject } from '../common/json-value.ts'
import { inputText } from '../common/tool-input.ts'
import { writeCall, writePart, writeReasoning } from './build-part.ts'
import { detailOf } from './reasoning.ts'
import { writeStop } from './stop-reason.ts'
import { writeUsage } from './write-usage.ts'

/** Writes an answer as a chat completion. */
export function buildAnswer(answer: Answer, options: AnswerOptions): BuiltAnswer {
  const own = answer.from === 'openai-chat'
  const dropped = new Set<string>()
  const message = own ? ownMessage(answer) : foreignMessage(answer, options, dropped)
  const extra = own ? answer.extra : null
  if (!own) for (const name of Object.keys(answer.extra ?? {})) dropped.add(name)
  putExtra(message, asObject(extra?.['message']))
  const choice: Record<string, unknown> = { index: 0, message }
  if (!own) choice['logprobs'] = null
  const legacy = answer.content.some((block) => block.type === 'tool-call' && block.kind === 'legacy')
  const stop = writeStop(answer.stop)
  choice['finish_reason'] = own ? answer.stop.native : legacy && stop === 'tool_calls' ? 'function_call' : stop
  putExtra(choice, asObject(extra?.['choice']))
  const usage = answer.usage ?? estimatedUsage(options.estimatedPromptTokens, textLength(answer.content))
  const body: Record<string, unknown> = {
    id: own && answer.id !== '' ? answer.id : answerId('chatcmpl-', answer.id, options.id),
    object: 'chat.completion',
    created: answer.created ?? options.created,
    model: options.model ?? answer.model,
    choices: [choice],
    usage: own && answer.nativeUsage !== null ? answer.nativeUsage : writeUsage(usage),
  }
  putExtra(body, asObject(extra?.['completion']))
  return { body, dropped: [...dropped] }
}

/** Writes a message that came in this dialect as it came. */
function ownMessage({ content }: Answer): Record<string, unknown> {
  const message: Record<string, unknown> = { role: 'assistant', content: null }
  const parts = content.filter(
    (block) =>
      block.type === 'text' || block.type === 'native' || (block.type === 'thinking' && block.format === 'part'),
  )
  const first = parts[0]
  if (parts.length === 1 && first?.type === 'text' && first.extra === null) message['content'] = first.text
  else if (parts.length > 0) message['content'] = parts.map(writePart)
  writeReasoning(message, content)
  const calls: JsonObject[] = []
  for (const block of content) {
    if (block.type === 'refusal') message['refusal'] = block.text
    else if (block.type === 'text' && block.citations !== null) message['annotations'] = block.citations.map(nativeOf)
    else if (block.type === 'tool-call') {
      if (block.kind === 'legacy') message['function_call'] = { name: block.name, arguments: block.input }
      else calls.push(writeCall(block))
    }
  }
  if (calls.length > 0) message['tool_calls'] = calls
  return message
}

function foreignMessage(answer: Answer, options: AnswerOptions, dropped: Set<string>): Record<string, unknown> {
  const message: Record<string, unknown> = { role: 'assistant', content: null, refusal: null }
  const calls: JsonObject[] = []
  const details: JsonObject[] = []
  let text = ''
  let thinking = ''
  for (const block of answer.content) {
    switch (block.type) {
      case 'text':
        text += block.text
        if (block.citations !== null) dropped.add('content.citations')
        break
      case 'refusal':
        message['refusal'] = block.text
        break
      case 'thinking':
        thinking += block.text
        if (options.reasoningDetails) details.push(detailOf(block, details.length))
        break
      case 'redacted-thinking':
        if (options.reasoningDetails) details.push(detailOf(block, details.length))
        else dropped.add('content.redacted_thinking')
        break
      case 'tool-call':
        if (block.kind === 'legacy') message['function_call'] = { name: block.name, arguments: callText(block) }
        else calls.push(foreignCall(block, `${options.id}_${calls.length}`))
        break
      default:
        dropped.add(`content.${block.type === 'native' ? block.kind : block.type}`)
    }
  }
  if (text !== '' || (calls.length === 0 && message['refusal'] === null && message['function_call'] === undefined)) {
    message['content'] = text
  }
  put(message, 'reasoning_content', thinking === '' ? null : thinking)
  if (details.length > 0) message['reasoning_details'] = details
  if (calls.length > 0) message['tool_calls'] = calls
  return message
}

function foreignCall(call: ToolCallBlock, fallbackId: string): JsonObject {
  const signature = call.signature === null ? null : { google: { thought_signature: call.signature } }
  return writeCall({
    ...call,
    id: call.id === '' ? `call_${fallbackId}` : call.id,
    input: callText(call),
    extra: signature === null ? null : { extra_content: signature },
  })
}

function callText(call: ToolCallBlock): string {
  const text = inputText(call.input)
  return text === '' && call.kind !== 'custom' ? '{}' : text
}

function nativeOf(citation: Citation): JsonObject {
  return citation.native
}
