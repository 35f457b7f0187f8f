import { expect, it } from 'vitest'
import type { ModelFacts, ModelPrices } from '../../../src/core/model-facts.ts'
import { PriceBook } from '../../../src/core/price-book.ts'
import type { Provider } from '../../../src/core/snapshot.ts'

const priced = (input: number): ModelPrices => ({
  input,
  output: 2 * input,
  cachedInput: input,
  cacheWrite: input,
  longPrompts: [],
})
const facts = (id: string, provider: string | null, prices: ModelPrices | null): ModelFacts => ({
  id,
  provider,
  contextTokens: null,
  takesImages: null,
  takesTools: null,
  target: {},
  prices,
  aliases: [],
})
const provider = (id: string, profile?: string): Provider =>
  ({ id, ...(profile === undefined ? {} : { profile }) }) as Provider
const million = { promptTokens: 1e6, completionTokens: 1e6, cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 }

it('takes the price of the known provider before that of any', () => {
  const book = new PriceBook()
  book.update({
    providers: [provider('mine'), provider('theirs', 'groq')],
    facts: [facts('m', null, priced(10)), facts('m', 'groq', priced(1))],
  })

  expect(book.costOf('mine', 'm', million)).toBe(30)
  expect(book.costOf('theirs', 'm-2026-01-01', million)).toBe(3)
})

it('charges nothing where no price is known or nobody served', () => {
  const book = new PriceBook()
  book.update({ providers: [provider('mine')], facts: [facts('m', null, null)] })

  expect(book.costOf('mine', 'm', million)).toBe(0)
  expect(book.costOf('mine', 'other', million)).toBe(0)
  expect(book.costOf(null, null, million)).toBe(0)
})

it('forgets old prices with a new snapshot, also of models it has seen before', () => {
  const book = new PriceBook()
  const providers = [provider('mine')]
  book.update({ providers, facts: [facts('m', null, priced(10))] })
  book.costOf('mine', 'm', million)
  book.update({ providers, facts: [facts('m', null, priced(20))] })

  expect(book.costOf('mine', 'm', million)).toBe(60)
})
