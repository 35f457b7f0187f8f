import { expect, it } from 'vitest'
import type { ModelFacts, ModelPrices } from '../../../src/shared/core/model-facts.ts'
import { PriceBook } from '../../../src/shared/core/price-book.ts'
import type { Provider } from '../../../src/shared/core/snapshot.ts'

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

it('takes what overrides before what is known, of single providers too, unless that names the model more exactly', () => {
  const book = new PriceBook()
  const over = (id: string, input: number, upstream?: string): ModelFacts => ({
    ...facts(id, null, priced(input)),
    overrides: true,
    ...(upstream === undefined ? {} : { upstream }),
  })
  book.update({
    providers: [provider('mine'), provider('theirs', 'groq')],
    facts: [
      over('m', 100),
      over('x-*', 200),
      over('behind', 300, 'theirs'),
      over('n', 400, 'mine'),
      over('n', 500),
      facts('m', 'groq', priced(1)),
      facts('m-2026-01-01', 'groq', priced(2)),
      facts('x-*', 'groq', priced(3)),
      facts('x-large', null, priced(4)),
    ],
  })
  const input = (providerId: string, model: string): number | undefined => book.pricesOf(providerId, model)?.input

  expect(input('theirs', 'm')).toBe(100)
  expect(input('mine', 'm-2026-01-01')).toBe(100)
  expect(input('theirs', 'm-2026-01-01')).toBe(2)
  expect(input('theirs', 'x-small')).toBe(200)
  expect(input('mine', 'x-large')).toBe(4)
  expect(input('theirs', 'behind')).toBe(300)
  expect(input('mine', 'behind')).toBeUndefined()
  expect(input('mine', 'n')).toBe(500)
})

it('leaves what an overriding entry does not say as it is known', () => {
  const book = new PriceBook()
  book.update({
    providers: [provider('mine')],
    facts: [{ ...facts('m', null, null), overrides: true }, facts('m', null, priced(7))],
  })

  expect(book.pricesOf('mine', 'm')?.input).toBe(7)
})
