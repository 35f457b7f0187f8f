import type { Target } from '../../shared/core/codec.ts'
import type { Conversation, Reasoning } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import type { DroppedFields } from '../dropped-fields.ts'
import { effortOf, nearestEffort } from '../common/reasoning-effort.ts'

const BUDGETS: Readonly<Record<string, number>> = {
  minimal: 512,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 32_768,
  max: 32_768,
}
/** The range of budgets that every model with a budget takes, and the limit of the largest models. */
const LEAST_BUDGET = 128
const COMMON_BUDGET = 24_576
const LARGEST_BUDGET = 32_768
const LEVELS: Readonly<Record<string, string>> = { none: 'MINIMAL', minimal: 'MINIMAL', low: 'LOW', medium: 'MEDIUM' }

/** Builds `thinkingConfig` with a level or a budget, never both. Null when the model decides. */
export function buildThinking(
  { reasoning }: Conversation,
  target: Target,
  droppedFields: DroppedFields,
): JsonObject | null {
  const effort = reasoning === null ? null : effortOf(reasoning)
  if (reasoning === null || effort === null) return null
  if (target.reasoning === 'none') {
    if (effort !== 'none') droppedFields.drop('reasoning_effort')
    return null
  }
  const known = nearestEffort(effort, target.efforts) ?? effort
  const told =
    target.reasoning === 'budget'
      ? { thinkingBudget: budgetOf(reasoning, effort, known, target) }
      : { thinkingLevel: LEVELS[known] ?? 'HIGH' }
  return effort === 'none' || reasoning.display === 'omitted' ? told : { ...told, includeThoughts: true }
}

function budgetOf(reasoning: Reasoning, effort: string, known: string, target: Target): number {
  if (effort === 'none') return known === 'none' ? 0 : LEAST_BUDGET
  const most = target.efforts.includes('xhigh') || target.efforts.includes('max') ? LARGEST_BUDGET : COMMON_BUDGET
  const wanted = reasoning.budgetTokens ?? BUDGETS[known] ?? COMMON_BUDGET
  return Math.min(Math.max(wanted, LEAST_BUDGET), most)
}
