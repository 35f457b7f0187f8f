import type { Conversation, NativeTool } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { put } from './fields.ts'
import { asObject, valueAt } from './json-value.ts'
import type { DroppedFields } from '../dropped-fields.ts'
import { toolsLeft } from './tool-names.ts'

/** The name in `Target.hostedTools`. */
export const WEB_SEARCH = 'web_search'

/** A web search, in a form that every dialect with a web search can express. */
export interface WebSearch {
  readonly allowedDomains: unknown
  readonly blockedDomains: unknown
  readonly userLocation: JsonObject | null
}

/** Null when the tool is no web search, or when the search must stay within the provider's own store. */
export function webSearchOf({ kind, value }: NativeTool): WebSearch | null {
  if (!/^web_search(_|$)/.test(kind) || value['external_web_access'] === false) return null
  return {
    allowedDomains: valueAt(value, 'filters', 'allowed_domains') ?? value['allowed_domains'],
    blockedDomains: valueAt(value, 'filters', 'blocked_domains') ?? value['blocked_domains'],
    userLocation: asObject(value['user_location']),
  }
}

/** Writes the web search as a tool of messages. */
export function messagesWebSearch({ allowedDomains, blockedDomains, userLocation }: WebSearch): JsonObject {
  const tool: Record<string, unknown> = { type: 'web_search_20250305', name: WEB_SEARCH }
  put(tool, 'allowed_domains', allowedDomains ?? null)
  put(tool, 'blocked_domains', blockedDomains ?? null)
  put(tool, 'user_location', userLocation)
  return tool
}

/**
 * Throws UNSUPPORTED_FIELD when the choice needs a provider tool that the upstream does not have. Otherwise such a tool is
 * only left out.
 * @param has whether the upstream has the tool
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
