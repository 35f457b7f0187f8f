import type { Usage } from '../../shared/core/usage.ts'
import { emptyUsage } from '../../shared/core/usage.ts'
import { valueAt } from './json-value.ts'
import { boundUsage, firstCount } from './token-count.ts'

/**
 * Usage of an answer that generates no text. All tokens are prompt tokens, under any name that a service uses. Null when the
 * service counts none (search units are not tokens).
 */
export function readInputUsage(answer: unknown): Usage | null {
  const usage = valueAt(answer, 'usage')
  const promptTokens = firstCount(
    valueAt(usage, 'prompt_tokens'),
    valueAt(usage, 'input_tokens'),
    valueAt(usage, 'total_tokens'),
    valueAt(answer, 'meta', 'tokens', 'input_tokens'),
    valueAt(answer, 'meta', 'billed_units', 'input_tokens'),
  )
  return promptTokens === null ? null : boundUsage({ ...emptyUsage(), promptTokens })
}
