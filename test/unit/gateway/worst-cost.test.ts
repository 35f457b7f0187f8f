import { expect, it } from 'vitest'
import { PriceBook } from '../../../src/shared/core/price-book.ts'
import type { ModelFacts } from '../../../src/shared/core/model-facts.ts'
import type { Principal } from '../../../src/shared/core/principal.ts'
import { worstCost } from '../../../src/front/gateway/worst-cost.ts'
import type { WorstCost } from '../../../src/front/gateway/worst-cost.ts'
import { provider, SchedulingWorld, target, upstreamKey } from '../../support/scheduling-world.ts'
import { BODY, makeContext } from './context.ts'

const PROVIDERS = [provider('p', [upstreamKey('k')])]

/** The model `m` costs 1 for a token, `dear` costs 3, and `free` has no price. */
function world() {
  const facts = (id: string, price: number): ModelFacts => ({
    id,
    provider: null,
    contextTokens: null,
    takesImages: null,
    takesTools: null,
    target: {},
    prices: { input: price, output: price, cachedInput: price, cacheWrite: price, longPrompts: [] },
    aliases: [],
  })
  const prices = new PriceBook()
  prices.update({ providers: PROVIDERS, facts: [facts('m', 1e6), facts('dear', 3e6)] })
  const models = ['m', 'dear', 'free'].map((id) => ({
    id,
    created: 0,
    ownedBy: 'test',
    targets: [target('p', { upstreamModel: id })],
  }))
  const { scheduler } = new SchedulingWorld({ version: 1, keys: [], providers: PROVIDERS, models })
  return { scheduler, prices, defaultOutputTokens: 10 }
}

function costWith(fallbacks: readonly string[], models: Principal['models']): WorstCost {
  const { ctx } = makeContext()
  ctx.principal = { models } as Principal
  return worstCost(ctx, BODY, { ...world(), fallbacks: new Map([['m', fallbacks]]) })
}

it('is that of the most expensive model that may serve, and names one without a price', () => {
  expect(costWith([], null)).toEqual({ micro: 60, unpriced: null })
  expect(costWith(['dear', 'free'], null)).toEqual({ micro: 180, unpriced: 'free' })
  expect(costWith(['dear', 'free'], new Set(['m', 'dear', 'free']))).toEqual({ micro: 180, unpriced: 'free' })
})

it('does not count fallbacks that the key may not use', () => {
  expect(costWith(['dear', 'free'], new Set(['m']))).toEqual({ micro: 60, unpriced: null })
  expect(costWith(['dear', 'free'], new Set(['m', 'dear']))).toEqual({ micro: 180, unpriced: null })
})
