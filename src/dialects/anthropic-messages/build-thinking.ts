import type { Target } from '../../shared/core/codec.ts'
import type { Conversation } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import type { DroppedFields } from '../dropped-fields.ts'
import { budgetOf, effortOf, nearestEffort } from '../reasoning-effort.ts'
import { SIGNED_FORMAT } from '../signed-thinking.ts'

const LEAST_BUDGET_TOKENS = 1024

interface BuiltThinking {
  readonly thinking: JsonObject | null
  /** Members of `output_config`. */
  readonly output: JsonObject | null
  readonly thinks: boolean
  readonly budgetTokens: number | null
}

const SILENT: BuiltThinking = { thinking: null, output: null, thinks: false, budgetTokens: null }

/** How the model is told to think. */
export function buildThinking(conversation: Conversation, target: Target, droppedFields: DroppedFields): BuiltThinking {
  const { reasoning } = conversation
  if (reasoning === null) return SILENT
  const effort = effortOf(reasoning)
  if (effort === null) return SILENT
  if (target.reasoning === 'none') {
    if (effort !== 'none') droppedFields.drop('reasoning_effort')
    return SILENT
  }
  // A turn that goes on after tool results must begin with its own thinking, which this dialect's service alone can sign.
  const lost = effort !== 'none' && lacksThinking(conversation)
  if (lost) droppedFields.drop('reasoning_effort')
  if (effort === 'none' || lost) return { ...SILENT, thinking: { type: 'disabled' } }
  if (target.reasoning !== 'budget') {
    const known = nearestEffort(effort, target.efforts)
    if (known === null) return { ...SILENT, thinking: { type: 'adaptive' }, thinks: true }
    return { ...SILENT, thinking: { type: 'adaptive' }, output: { effort: known }, thinks: true }
  }
  const wanted = Math.max(budgetOf(reasoning) ?? LEAST_BUDGET_TOKENS, LEAST_BUDGET_TOKENS)
  const room = target.maxOutputTokens === null ? wanted : Math.min(wanted, target.maxOutputTokens - 1)
  if (room < LEAST_BUDGET_TOKENS) {
    droppedFields.drop('reasoning_effort')
    return SILENT
  }
  return { thinking: { type: 'enabled', budget_tokens: room }, output: null, thinks: true, budgetTokens: room }
}

/** The conversation ends in results of tools, and the calls they answer have no thinking ahead of them that counts. */
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
