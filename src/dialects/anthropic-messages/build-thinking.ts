import type { Target } from '../../shared/core/codec.ts'
import type { Conversation } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import type { DroppedFields } from '../dropped-fields.ts'
import { budgetOf, effortOf, nearestEffort } from '../common/reasoning-effort.ts'
import { SIGNED_FORMAT } from '../common/signed-thinking.ts'

const LEAST_BUDGET_TOKENS = 1024

interface BuiltThinking {
  readonly thinking: JsonObject | null
  /** Members of `output_config`. */
  readonly output: JsonObject | null
  readonly thinks: boolean
  readonly budgetTokens: number | null
}

const NO_THINKING: BuiltThinking = { thinking: null, output: null, thinks: false, budgetTokens: null }

/** Builds the fields that control how the model thinks. */
export function buildThinking(conversation: Conversation, target: Target, droppedFields: DroppedFields): BuiltThinking {
  const { reasoning } = conversation
  if (reasoning === null) return NO_THINKING
  const effort = effortOf(reasoning)
  if (effort === null) return NO_THINKING
  if (target.reasoning === 'none') {
    if (effort !== 'none') droppedFields.drop('reasoning_effort')
    return NO_THINKING
  }
  // After tool results, the turn must begin with its own thinking, which only this dialect's service can sign.
  const lost = effort !== 'none' && lacksThinking(conversation)
  if (lost) droppedFields.drop('reasoning_effort')
  if (effort === 'none' || lost) return { ...NO_THINKING, thinking: { type: 'disabled' } }
  if (target.reasoning !== 'budget') {
    const known = nearestEffort(effort, target.efforts)
    if (known === null) return { ...NO_THINKING, thinking: { type: 'adaptive' }, thinks: true }
    return { ...NO_THINKING, thinking: { type: 'adaptive' }, output: { effort: known }, thinks: true }
  }
  const wanted = Math.max(budgetOf(reasoning) ?? LEAST_BUDGET_TOKENS, LEAST_BUDGET_TOKENS)
  const room = target.maxOutputTokens === null ? wanted : Math.min(wanted, target.maxOutputTokens - 1)
  if (room < LEAST_BUDGET_TOKENS) {
    droppedFields.drop('reasoning_effort')
    return NO_THINKING
  }
  return { thinking: { type: 'enabled', budget_tokens: room }, output: null, thinks: true, budgetTokens: room }
}

/** The conversation ends in tool results, and the turn with their calls has no thinking that the service signed. */
function lacksThinking({ messages }: Conversation): boolean {
  let at = messages.length - 1
  while (at >= 0 && messages[at]?.role === 'tool') at--
  const caller = messages[at]
  if (at === messages.length - 1 || caller?.role !== 'assistant') return false
  return !caller.content.some(
    (block) =>
      (block.type === 'thinking' && block.signature !== null && block.format === SIGNED_FORMAT) ||
      (block.type === 'redacted-thinking' && block.format === SIGNED_FORMAT),
  )
}
