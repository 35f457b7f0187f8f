import { nativeBlock, textBlock, thinkingBlock, toolCallBlock } from '../../shared/core/content.ts'
import type { Block, Citation } from '../../shared/core/content.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { objects, textOr } from '../common/fields.ts'
import { asObject, valueAt } from '../common/json-value.ts'
import { SIGNED_FORMAT } from '../common/signed-thinking.ts'
import { readRedacted } from './redacted.ts'

/** Adds the content of a block. Only this dialect knows the service's own tools and their results. */
export function pushBlock(into: Block[], block: JsonObject): void {
  if (typeof block['text'] === 'string') {
    if (block['text'] !== '') into.push(textBlock(block['text']))
    return
  }
  const call = asObject(block['toolUse'])
  if (call !== null) {
    into.push(isServerTool(call) ? nativeBlock(serverToolKind(call), block) : readCall(call))
    return
  }
  const reasoning = asObject(block['reasoningContent'])
  if (reasoning !== null) {
    const redacted = reasoning['redactedContent']
    if (typeof redacted === 'string') {
      const data = readRedacted(Buffer.from(redacted, 'base64'))
      into.push({ type: 'redacted-thinking', data, format: SIGNED_FORMAT, extra: null })
      return
    }
    const text = asObject(reasoning['reasoningText'])
    const signature = textOr(text?.['signature'], null)
    into.push(thinkingBlock(textOr(text?.['text'], ''), signature === '' ? null : signature, SIGNED_FORMAT))
    return
  }
  const cited = asObject(block['citationsContent'])
  if (cited !== null) {
    const citations = objects(cited['citations']).map(readCitation)
    const text = objects(cited['content']).map((part) => textOr(part['text'], ''))
    if (text.join('') === '') {
      citeLast(into, citations)
      return
    }
    into.push({ ...textBlock(text.join('')), citations: citations.length === 0 ? null : citations })
    return
  }
  into.push(nativeBlock(Object.keys(block)[0] ?? '', block))
}

/** Adds the citations of a separate block to the text before it. Without such a text they are lost. */
function citeLast(into: Block[], citations: readonly Citation[]): void {
  const last = into.at(-1)
  if (last?.type !== 'text' || citations.length === 0) return
  into[into.length - 1] = { ...last, citations: [...(last.citations ?? []), ...citations] }
}

function readCall(call: JsonObject): Block {
  return toolCallBlock({
    id: textOr(call['toolUseId'], ''),
    name: textOr(call['name'], ''),
    input: call['input'] ?? {},
  })
}

/** The service runs this tool itself, so the client must not. */
export function isServerTool(call: JsonObject): boolean {
  return typeof call['type'] === 'string' && call['type'] !== 'tool_use'
}

export function serverToolKind(call: JsonObject): string {
  return textOr(call['type'], 'server_tool_use')
}

export function readCitation(citation: JsonObject): Citation {
  const passages = objects(citation['sourceContent']).map((passage) => textOr(passage['text'], ''))
  return {
    url: textOr(valueAt(citation, 'location', 'web', 'url'), null) ?? textOr(citation['source'], null),
    title: textOr(citation['title'], null) ?? textOr(valueAt(citation, 'location', 'web', 'domain'), null),
    text: passages.length === 0 ? null : passages.join(''),
    start: null,
    end: null,
    native: citation,
  }
}
