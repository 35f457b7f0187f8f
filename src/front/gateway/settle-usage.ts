import type { RequestContext } from '../../shared/core/request-context.ts'
import { emptyUsage } from '../../shared/core/usage.ts'
import type { Usage } from '../../shared/core/usage.ts'
import { familyOf } from '../tokens/families.ts'

export interface Observation {
  /** As the provider told it, or as far as it got. */
  readonly usage: Usage | null
  readonly observedTextBytes: number
  /** The provider's last word on usage can be trusted: the answer came to its end. */
  readonly complete: boolean
  /** The whole answer as the client gets it, where there is one. */
  readonly answer?: Buffer
}

/** Books the tokens of an answer: the provider's own count, else what was seen to pass and an estimate of the prompt. */
export function settleUsage(ctx: RequestContext, seen: Observation): void {
  if (ctx.endpoint.countsTokens) return
  if (seen.usage !== null && seen.complete) {
    ctx.usage = seen.usage
    ctx.settlement = ctx.aborted ? 'after_disconnect' : 'exact'
    return
  }
  const { bytesPerToken } = familyOf(ctx.servedModel ?? '').answer
  const observedTokens = Math.ceil(seen.observedTextBytes / bytesPerToken)
  ctx.usage = {
    promptTokens: seen.usage?.promptTokens ?? ctx.body?.estimatedPromptTokens ?? 0,
    completionTokens: Math.max(seen.usage?.completionTokens ?? 0, observedTokens),
    cachedTokens: seen.usage?.cachedTokens ?? 0,
    cacheWriteTokens: seen.usage?.cacheWriteTokens ?? 0,
    reasoningTokens: seen.usage?.reasoningTokens ?? 0,
  }
  ctx.settlement = 'observed'
  if (seen.usage === null) ctx.unreported = { answer: seen.answer ?? null }
}

/**
 * Books an answer of which nothing was seen, because its client left: whoever serves it has read the prompt by then. Does nothing
 * when something was booked already.
 */
export function settleUnseen(ctx: RequestContext): void {
  if (ctx.settlement !== 'none' || ctx.endpoint.countsTokens) return
  ctx.usage = { ...emptyUsage(), promptTokens: ctx.body?.estimatedPromptTokens ?? 0 }
  ctx.settlement = 'estimated'
}
