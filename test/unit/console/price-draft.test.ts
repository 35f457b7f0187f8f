import { expect, it } from 'vitest'
import { priceDraftOf, pricesOf } from '../../../src/console/pages/models/price-draft.ts'

it('a price of the cache that is that of the input follows it, in each tier', () => {
  const long = { input: 5_000_000, output: 20_000_000, cached_input: 500_000, cache_write: 5_000_000 }
  const draft = priceDraftOf({
    ...{ input: 2_500_000, output: 10_000_000, cached_input: 2_500_000, cache_write: 3_125_000 },
    long_prompts: [{ ...long, above_tokens: 200_000 }],
  })
  expect(draft.base).toEqual({ input: '2.50', output: '10', cached_input: '', cache_write: '3.125' })
  expect(pricesOf({ ...draft, base: { ...draft.base, input: '3' } })).toEqual({
    ...{ input: 3_000_000, output: 10_000_000, cache_write: 3_125_000 },
    long_prompts: [{ above_tokens: 200_000, input: 5_000_000, output: 20_000_000, cached_input: 500_000 }],
  })
})
