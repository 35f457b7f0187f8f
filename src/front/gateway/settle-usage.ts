import type { RequestContext } from '../../shared/core/request-context.ts'
import { emptyUsage } from '../../shared/core/usage.ts'
import type { Usage } from '../../shared/core/usage.ts'
import { familyOf } from '../tokens/families.ts'

export interface Observation {
  /** The usage that the provider reported, possibly only in part; null: none. */
  readonly usage: Usage | null
  readonly observedTextBytes: number
  /** Whether `usage` is final: the answer was complete. */
  readonly complete: boolean
  /** The whole answer in the client's form; absent for streams. */
  readonly answer?: Buffer
}

/** Books the tokens of an answer: the provider's count, else an estimate of the prompt and the text that passed. */
export function settleUsage(ctx: RequestContext, seen: Observation): void {
  if (ctx.endpoint.countsTokens) return
  if (seen.usage !== null && seen.complete) {
    const settlement = ctx.outcome.aborted ? 'after_disconnect' : 'exact'
    ctx.tokens = { usage: seen.usage, settlement, unreported: null }
    return
  }
  const { bytesPerToken } = familyOf(ctx.served.model ?? '').answer
  const observedTokens = Math.ceil(seen.observedTextBytes / bytesPerToken)
  const usage = {
    promptTokens: seen.usage?.promptTokens ?? ctx.body?.estimatedPromptTokens ?? 0,
    completionTokens: Math.max(seen.usage?.completionTokens ?? 0, observedTokens),
    cachedTokens: seen.usage?.cachedTokens ?? 0,
    cacheWriteTokens: seen.usage?.cacheWriteTokens ?? 0,
    reasoningTokens: seen.usage?.reasoningTokens ?? 0,
  }
  const unreported = seen.usage === null ? { answer: seen.answer ?? null } : null
  ctx.tokens = { usage, settlement: 'observed', unreported }
}

/**
 * Books the estimated prompt when the client left before any of the answer arrived: the upstream has read the prompt by then.
 * Does nothing when the request is booked already.
 */
export function settleUnseen(ctx: RequestContext): void {
  if (ctx.tokens.settlement !== 'none' || ctx.endpoint.countsTokens) return
  const usage = { ...emptyUsage(), promptTokens: ctx.body?.estimatedPromptTokens ?? 0 }
  ctx.tokens = { usage, settlement: 'estimated', unreported: null }
}
