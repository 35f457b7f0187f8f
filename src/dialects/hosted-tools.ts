import type { Conversation, NativeTool } from '../shared/core/conversation.ts'
import type { JsonObject } from '../shared/core/json-object.ts'
import { put } from './fields.ts'
import { asObject, valueAt } from './json-value.ts'
import type { DroppedFields } from './dropped-fields.ts'
import { toolsLeft } from './tool-names.ts'

/** As `Target.hostedTools` names it. */
export const WEB_SEARCH = 'web_search'

/** A search of the web as every dialect that has one can be told of it. */
export interface WebSearch {
  readonly allowedDomains: unknown
  readonly blockedDomains: unknown
  readonly userLocation: JsonObject | null
}

/** Null: the tool is another one, or a search that must not leave the provider's own store. */
export function webSearchOf({ kind, value }: NativeTool): WebSearch | null {
  if (!/^web_search(_|$)/.test(kind) || value['external_web_access'] === false) return null
  return {
    allowedDomains: valueAt(value, 'filters', 'allowed_domains') ?? value['allowed_domains'],
    blockedDomains: valueAt(value, 'filters', 'blocked_domains') ?? value['blocked_domains'],
    userLocation: asObject(value['user_location']),
  }
}

/** As messages have it. */
export function messagesWebSearch({ allowedDomains, blockedDomains, userLocation }: WebSearch): JsonObject {
  const tool: Record<string, unknown> = { type: 'web_search_20250305', name: WEB_SEARCH }
  put(tool, 'allowed_domains', allowedDomains ?? null)
  put(tool, 'blocked_domains', blockedDomains ?? null)
  put(tool, 'user_location', userLocation)
  return tool
}

/**
 * A tool of the provider that the upstream does not have is left out, unless the choice asks for it: throws UNSUPPORTED_FIELD.
 * @param has whether the upstream has it
 */
export function refuseLostChoice(
  { toolChoice, tools }: Conversation,
  droppedFields: DroppedFields,
  has: (tool: NativeTool) => boolean = () => false,
): void {
  const isLost = (tool: Conversation['tools'][number]): boolean => tool.type === 'native' && !has(tool)
  let lost = false
  if (toolChoice?.type === 'tool') {
    const { name, kind } = toolChoice
    const chosen = tools.find((tool) => tool.name === name && (kind !== 'hosted' || tool.type === 'native'))
    lost = chosen === undefined ? kind === 'hosted' : isLost(chosen)
  } else if (toolChoice?.type === 'required' || (toolChoice?.type === 'allowed' && toolChoice.required)) {
    const left = toolsLeft(tools, toolChoice)
    lost = left.length > 0 && left.every(isLost)
  }
  if (lost) droppedFields.lose('tool_choice.native', 'tool_choice')
}
