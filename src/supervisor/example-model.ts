import type { Config, UpstreamConfig, UpstreamModel } from '../shared/config/shape.ts'
import { factsUnder } from '../shared/core/model-facts.ts'
import type { ModelFacts } from '../shared/core/model-facts.ts'

/**
 * Returns a model for a first chat request: one that an upstream with an enabled key names, otherwise the cheapest catalogue model
 * that matches a pattern of such an upstream. Null when there is none.
 */
export function exampleModel({ upstreams, models: facts }: Config): string | null {
  const able = upstreams.filter(({ converses = true, keys }) => converses && keys.some(({ enabled }) => enabled))
  const named = able.flatMap(({ models }) => models).find(({ id }) => !id.endsWith('*'))
  if (named !== undefined) return named.id
  const known = able.flatMap((upstream) => upstream.models.flatMap((model) => knownUnder(upstream, model, facts)))
  return known.sort((a, b) => a.price - b.price)[0]?.id ?? null
}

interface Known {
  readonly id: string
  /** Price of a million output tokens. */
  readonly price: number
}

function knownUnder(
  { profile }: UpstreamConfig,
  { id, upstreamModel }: UpstreamModel,
  facts: readonly ModelFacts[],
): Known[] {
  return (
    factsUnder(upstreamModel, profile ?? null, facts)
      // Image and embedding models take no tools.
      .filter(({ takesTools }) => takesTools === true)
      .map((fact) => ({
        id: id.slice(0, -1) + fact.id.slice(upstreamModel.length - 1),
        price: fact.prices?.output ?? Infinity,
      }))
  )
}
