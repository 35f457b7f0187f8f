import { expect, it } from 'vitest'
import type { ModelPrices, TokenPrices } from '../../../src/shared/core/model-facts.ts'
import type { Usage } from '../../../src/shared/core/usage.ts'
import { costMicro } from '../../../src/shared/core/pricing.ts'
import fc from '../../support/fast-check.ts'

const FREE: TokenPrices = { input: 0, output: 0, cachedInput: 0, cacheWrite: 0 }
const prices = (members: Partial<ModelPrices>): ModelPrices => ({ ...FREE, longPrompts: [], ...members })
const usage = (members: Partial<Usage>): Usage => ({
  promptTokens: 0,
  completionTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  ...members,
})

it('charges each kind of token its price: cached and written ones are part of the prompt, reasoning of the answer', () => {
  const model = prices({ input: 3_000_000, output: 15_000_000, cachedInput: 300_000, cacheWrite: 3_750_000 })
  const tokens = { promptTokens: 1000, cachedTokens: 600, cacheWriteTokens: 300, completionTokens: 50 }

  expect(costMicro(usage({ ...tokens, reasoningTokens: 40 }), model)).toBe(300 + 180 + 1125 + 750)
})

it.each([
  [499_999, 0],
  [500_000, 1],
  [1_499_999, 1],
  [1_500_000, 2],
])('rounds once, at the end, a half upwards: one token at %s', (input, cost) => {
  expect(costMicro(usage({ promptTokens: 1 }), prices({ input }))).toBe(cost)
})

it('charges all tokens of a long prompt the price of the longest tier that it passes', () => {
  const tier = (aboveTokens: number, input: number): ModelPrices['longPrompts'][number] => ({
    ...FREE,
    input,
    aboveTokens,
  })
  const model = prices({ input: 1_000_000, longPrompts: [tier(100, 2_000_000), tier(1000, 3_000_000)] })
  const cost = (promptTokens: number): number => costMicro(usage({ promptTokens }), model)

  expect([cost(100), cost(101), cost(1000), cost(1001)]).toEqual([100, 202, 2000, 3003])
})

it('takes counts that cannot be for none', () => {
  const model = prices({ input: 1_000_000, cachedInput: 0, cacheWrite: 0, output: 1_000_000 })

  expect(costMicro(usage({ promptTokens: 5, cachedTokens: 9, cacheWriteTokens: 9 }), model)).toBe(0)
  expect(costMicro(usage({ promptTokens: -5, completionTokens: NaN }), model)).toBe(0)
  expect(costMicro(usage({ promptTokens: 5, cachedTokens: -9 }), model)).toBe(5)
})

const price = fc.integer({ min: 0, max: 1_000_000_000 })
const anyPrices = fc.record({
  input: price,
  output: price,
  cachedInput: price,
  cacheWrite: price,
  longPrompts: fc.constant([]),
})
const count = fc.integer({ min: 0, max: 10_000_000 })
const anyUsage = fc
  .tuple(count, count, count, count)
  .map(([fresh, cachedTokens, cacheWriteTokens, completionTokens]) =>
    usage({ promptTokens: fresh + cachedTokens + cacheWriteTokens, cachedTokens, cacheWriteTokens, completionTokens }),
  )

it('is never further from the exact sum than half a micro-unit', () => {
  fc.assert(
    fc.property(anyUsage, anyPrices, (tokens, model) => {
      const { promptTokens, cachedTokens, cacheWriteTokens, completionTokens } = tokens
      const exact =
        BigInt(promptTokens - cachedTokens - cacheWriteTokens) * BigInt(model.input) +
        BigInt(cachedTokens) * BigInt(model.cachedInput) +
        BigInt(cacheWriteTokens) * BigInt(model.cacheWrite) +
        BigInt(completionTokens) * BigInt(model.output)
      const twiceOff = 2n * (BigInt(costMicro(tokens, model)) * 1_000_000n - exact)
      expect(twiceOff > -1_000_000n && twiceOff <= 1_000_000n).toBe(true)
    }),
  )
})

it('never gets cheaper with more tokens, nor dearer for those that are cached where that is cheaper', () => {
  fc.assert(
    fc.property(anyUsage, anyPrices, fc.nat({ max: 1000 }), (tokens, model, more) => {
      const cost = costMicro(tokens, model)
      expect(costMicro({ ...tokens, completionTokens: tokens.completionTokens + more }, model) >= cost).toBe(true)
      expect(costMicro({ ...tokens, promptTokens: tokens.promptTokens + more }, model) >= cost).toBe(true)
      const cheaper = { ...model, cachedInput: Math.min(model.cachedInput, model.input) }
      const allCached = { ...tokens, cachedTokens: tokens.promptTokens - tokens.cacheWriteTokens }
      expect(costMicro(allCached, cheaper) <= costMicro(tokens, cheaper)).toBe(true)
    }),
  )
})
