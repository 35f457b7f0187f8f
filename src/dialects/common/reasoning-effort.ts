import type { Reasoning } from '../../shared/core/conversation.ts'

// Some dialects state how much a model thinks as a word (effort), others as a number of tokens (budget).

const BUDGETS: Readonly<Record<string, number>> = {
  minimal: 1024,
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 32_000,
  max: 32_000,
}
const RISING = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']
const LOW_BELOW_TOKENS = 4096
const MEDIUM_BELOW_TOKENS = 16_384

/** `none` when reasoning is switched off; null when the request names no effort. */
export function effortOf(reasoning: Reasoning): string | null {
  if (reasoning.mode === 'disabled') return 'none'
  if (reasoning.effort !== null) return reasoning.effort
  if (reasoning.budgetTokens !== null) {
    if (reasoning.budgetTokens < LOW_BELOW_TOKENS) return 'low'
    return reasoning.budgetTokens < MEDIUM_BELOW_TOKENS ? 'medium' : 'high'
  }
  return reasoning.mode === null ? null : 'medium'
}

/** Tokens to think with; null when reasoning is switched off or the request says nothing. */
export function budgetOf(reasoning: Reasoning): number | null {
  if (reasoning.mode === 'disabled') return null
  if (reasoning.budgetTokens !== null) return reasoning.budgetTokens
  const effort = effortOf(reasoning)
  return effort === null ? null : (BUDGETS[effort] ?? null)
}

/** The nearest effort that the model knows: the same, else the next below, else its lowest. `known` is in rising order. */
export function nearestEffort(effort: string, known: readonly string[]): string | null {
  if (known.includes(effort)) return effort
  const rank = RISING.indexOf(effort)
  let nearest: string | null = known[0] ?? null
  for (const candidate of known) if (RISING.indexOf(candidate) <= rank) nearest = candidate
  return nearest
}
