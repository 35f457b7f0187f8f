import type { Citation } from '../../shared/core/content.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { SIGNED_FORMAT } from '../common/signed-thinking.ts'
import { seal } from './reasoning-seal.ts'
import { splitName } from './tool-groups.ts'

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

/** An item of the output in progress. */
export type Item = MessageItem | CallItem | ReasoningItem

export interface MessageItem {
  readonly type: 'message'
  readonly id: string
  readonly parts: JsonObject[]
}

export interface CallItem {
  readonly type: 'function_call' | 'custom_tool_call'
  readonly id: string
  readonly callId: string
  readonly name: string
  input: string
}

export interface ReasoningItem {
  readonly type: 'reasoning'
  readonly id: string
  readonly format: string | null
  text: string
  signature: string
  /** `encrypted_content` when it is known from the start; null when it is built from the thinking. */
  readonly sealed: string | null
}

/** Writes an item of a response. */
export function writeItem(item: Item, status: ItemStatus): JsonObject {
  const { id, type } = item
  switch (type) {
    case 'message':
      return { id, type, status, role: 'assistant', content: [...item.parts] }
    case 'function_call':
      return { id, type, status, call_id: item.callId, ...splitName(item.name), arguments: item.input }
    case 'custom_tool_call':
      return { id, type, status, call_id: item.callId, ...splitName(item.name), input: item.input }
    case 'reasoning': {
      const summary = item.text === '' ? [] : [summaryPart(item.text)]
      // At its start, the item's content is not known.
      if (status === 'in_progress') return { id, type, summary: [] }
      return { id, type, summary, encrypted_content: item.sealed ?? sealThinking(item) }
    }
  }
}

function sealThinking({ format, signature }: ReasoningItem): string {
  if (signature === '') return seal({ kind: 'thinking', format, signature: null })
  return seal({ kind: 'thinking', format: format ?? SIGNED_FORMAT, signature })
}

export function summaryPart(text: string): JsonObject {
  return { type: 'summary_text', text }
}

export function textPart(text: string, annotations: readonly JsonObject[]): JsonObject {
  return { type: 'output_text', text, annotations, logprobs: [] }
}

export function refusalPart(refusal: string): JsonObject {
  return { type: 'refusal', refusal }
}

/** Null when the citation has no URL. @param length of the citing text, used when the citation does not tell its end */
export function annotationOf(citation: Citation, length: number): JsonObject | null {
  const { url, title, start, end } = citation
  if (url === null) return null
  return { type: 'url_citation', url, title: title ?? url, start_index: start ?? 0, end_index: end ?? length }
}
