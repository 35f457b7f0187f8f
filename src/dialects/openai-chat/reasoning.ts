import { thinkingBlock } from '../../shared/core/content.ts'
import type { Block, RedactedThinkingBlock, ThinkingBlock } from '../../shared/core/content.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { objects, textOr } from '../common/fields.ts'
import { SIGNED_FORMAT } from '../common/signed-thinking.ts'

/** Reads the reasoning of an assistant message under any service's name. The detailed form wins. */
export function readReasoning(message: JsonObject, into: Block[]): void {
  const details = objects(message['reasoning_details'])
  if (details.length > 0) {
    for (const detail of joinPieces(details)) readDetail(detail, into)
    if (into.length > 0) return
  }
  const field = typeof message['reasoning_content'] === 'string' ? 'reasoning_content' : 'reasoning'
  const text = message[field]
  if (typeof text === 'string' && text !== '') into.push(thinkingBlock(text, null, field))
}

/** Keeps the reasoning that a service repeats under a second name, so that it goes back to the service. */
export function withSecondReasoning(rest: JsonObject | null, message: JsonObject): JsonObject | null {
  const detailed = objects(message['reasoning_details']).length > 0
  const first = typeof message['reasoning_content'] === 'string'
  const second = typeof message['reasoning'] === 'string' && (first || detailed)
  if (!second && !(first && detailed)) return rest
  return {
    ...rest,
    ...(second ? { reasoning: message['reasoning'] } : null),
    ...(first && detailed ? { reasoning_content: message['reasoning_content'] } : null),
  }
}

/**
 * Joins the details of a stream, which clients collect and send back. Pieces of one detail share its index; the last is
 * signed.
 */
function joinPieces(details: readonly JsonObject[]): JsonObject[] {
  const joined: JsonObject[] = []
  for (const piece of details) {
    const last = joined.at(-1)
    const continues =
      last !== undefined &&
      typeof piece['index'] === 'number' &&
      piece['index'] === last['index'] &&
      piece['type'] === last['type'] &&
      piece['type'] !== 'reasoning.encrypted' &&
      typeof last['signature'] !== 'string'
    if (continues) joined[joined.length - 1] = join(last, piece)
    else joined.push(piece)
  }
  return joined
}

function join(first: JsonObject, piece: JsonObject): JsonObject {
  const joined: Record<string, unknown> = { ...first, ...piece, format: first['format'] ?? piece['format'] }
  for (const name of ['text', 'summary']) {
    if (name in joined) joined[name] = textOr(first[name], '') + textOr(piece[name], '')
  }
  return joined
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

/** Writes thinking with its signature, for clients that send it back. */
export function detailOf(block: ThinkingBlock | RedactedThinkingBlock, index: number): JsonObject {
  const format = block.format ?? SIGNED_FORMAT
  return block.type === 'thinking'
    ? { type: 'reasoning.text', text: block.text, signature: block.signature, format, index }
    : { type: 'reasoning.encrypted', data: block.data, format, index }
}
