import type { Answer } from '../../shared/core/answer.ts'
import type { AnswerOptions, BuiltAnswer } from '../../shared/core/codec.ts'
import type { Block } from '../../shared/core/content.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { answerId } from '../common/answer-id.ts'
import { estimatedUsage, textLength } from '../common/estimate-tokens.ts'
import { put, putExtra } from '../common/fields.ts'
import { SIGNED_FORMAT } from '../common/signed-thinking.ts'
import { THOUGHT_FORMAT, sealSignature } from '../common/thought-signature.ts'
import { upstreamToolId } from '../common/tool-ids.ts'
import { inputObject, inputText } from '../common/tool-input.ts'
import { writeBlock } from './build-block.ts'
import { writeStop } from './stop-reason.ts'
import { MESSAGES_TARGET } from './target.ts'
import { writeUsage } from './write-usage.ts'

/** Writes an answer as a message. */
export function buildAnswer(answer: Answer, options: AnswerOptions): BuiltAnswer {
  const own = answer.from === 'anthropic-messages'
  const dropped = new Set<string>()
  const content = own ? answer.content.map(writeBlock) : foreignContent(answer, options, dropped)
  if (!own) for (const name of Object.keys(answer.extra ?? {})) dropped.add(name)
  const usage = answer.usage ?? estimatedUsage(options.estimatedPromptTokens, textLength(answer.content))
  const body: Record<string, unknown> = {
    id: own && answer.id !== '' ? answer.id : answerId('msg_', answer.id, options.id),
    type: 'message',
    role: 'assistant',
    model: options.model ?? answer.model,
    content,
    stop_reason: own ? answer.stop.native : writeStop(answer.stop),
    stop_sequence: answer.stop.sequence,
    usage: own && answer.nativeUsage !== null ? answer.nativeUsage : writeUsage(usage),
  }
  if (own) {
    put(body, 'stop_details', answer.stop.details)
    putExtra(body, answer.extra)
  }
  return { body, dropped: [...dropped] }
}

function foreignContent(answer: Answer, options: AnswerOptions, dropped: Set<string>): JsonObject[] {
  const content: JsonObject[] = []
  for (const block of answer.content) {
    if (block.type === 'tool-call' && block.signature !== null) {
      content.push({ type: 'redacted_thinking', data: sealSignature(block.signature, 'call') })
    }
    const client = clientBlock(block, answer, options, content.length)
    if (client === null) dropped.add(`content.${block.type === 'native' ? block.kind : block.type}`)
    else if (client.type !== 'text' || client.text !== '') content.push(writeBlock(client))
  }
  return content
}

/** The block in this dialect; null when the dialect has no such block. */
function clientBlock(block: Block, { stop }: Answer, options: AnswerOptions, index: number): Block | null {
  switch (block.type) {
    case 'text':
      return { ...block, citations: null, extra: null }
    case 'refusal':
      return block
    case 'thinking':
      return { ...block, signature: block.format === SIGNED_FORMAT ? block.signature : null, extra: null }
    case 'redacted-thinking':
      return block.format === SIGNED_FORMAT || block.format === THOUGHT_FORMAT ? { ...block, extra: null } : null
    case 'tool-call': {
      const id = block.id === '' ? `toolu_${options.id}_${index}` : upstreamToolId(block.id, MESSAGES_TARGET)
      // The answer did not end by itself: arguments that are not JSON are cut off, so they become `{}`.
      const cut = stop.reason !== 'tool-calls' && !isJson(inputText(block.input))
      return { ...block, id, input: cut ? {} : inputObject(block.input), extra: null }
    }
    default:
      return null
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
