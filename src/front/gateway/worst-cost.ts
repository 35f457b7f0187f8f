import type { PriceBook } from '../../shared/core/price-book.ts'
import type { RequestBody } from '../../shared/core/request-body.ts'
import type { RequestContext } from '../../shared/core/request-context.ts'
import type { Scheduler } from '../scheduling/scheduler.ts'
import { allowedFallbacks } from './allowed-fallbacks.ts'

export interface WorstCostParts {
  readonly scheduler: Pick<Scheduler, 'route'>
  readonly fallbacks: ReadonlyMap<string, readonly string[]>
  readonly prices: PriceBook
  readonly defaultOutputTokens: number
}

export interface WorstCost {
  /** Micro-units. */
  readonly micro: number
  /** A model that may serve the request and has no price; null: all have one. */
  readonly unpriced: string | null
}

/** In recorded traffic, prompts were up to a tenth longer than estimated. */
const PROMPT_MARGIN = 1.25

/**
 * The most that a request may cost: at the most expensive deployment that may serve it, with the longest answer and no cached
 * prompt. `defaultOutputTokens` applies when neither the request nor the model limits the answer.
 */
export function worstCost(ctx: RequestContext, body: RequestBody, parts: WorstCostParts): WorstCost {
  const promptTokens = Math.ceil(body.estimatedPromptTokens * PROMPT_MARGIN)
  let micro = 0
  let unpriced: string | null = null
  for (const model of [body.model, ...allowedFallbacks(ctx, body.model, parts.fallbacks)]) {
    for (const { deployment } of parts.scheduler.route(model, ctx.endpoint.servedBy) ?? []) {
      const answer = body.maxOutputTokens ?? deployment.target?.maxOutputTokens ?? parts.defaultOutputTokens
      const tokens = { promptTokens, completionTokens: answer * body.choices }
      const { provider, upstreamModel } = deployment
      if (parts.prices.pricesOf(provider.id, upstreamModel) === null) unpriced ??= model
      else micro = Math.max(micro, parts.prices.mostOf(provider.id, upstreamModel, tokens))
    }
  }
  return { micro, unpriced }
}
