import { thinkingBlock } from '../../core/content.ts'
import type { Block } from '../../core/content.ts'
import type { JsonObject } from '../../core/json-object.ts'
import { objects, textOr } from '../fields.ts'

/** The `format` of reasoning details whose signatures a messages upstream has issued. */
export const SIGNED_FORMAT = 'anthropic-claude-v1'

/** Reasoning of an assistant message, under whichever names its service has it; the detailed form wins. */
export function readReasoning(message: JsonObject, into: Block[]): void {
  const details = objects(message['reasoning_details'])
  if (details.length > 0) {
    for (const detail of details) readDetail(detail, into)
    if (into.length > 0) return
  }
  const field = typeof message['reasoning_content'] === 'string' ? 'reasoning_content' : 'reasoning'
  const text = message[field]
  if (typeof text === 'string' && text !== '') into.push(thinkingBlock(text, null, field))
}

function readDetail(detail: JsonObject, into: Block[]): void {
  const format = textOr(detail['format'], '')
  if (detail['type'] === 'reasoning.encrypted') {
    into.push({ type: 'redacted-thinking', data: textOr(detail['data'], ''), format, extra: detail })
    return
  }
  const text = textOr(detail['text'], null) ?? textOr(detail['summary'], '')
  into.push(thinkingBlock(text, textOr(detail['signature'], null), format, detail))
}
