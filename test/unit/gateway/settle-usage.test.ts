import { expect, it } from 'vitest'
import { ENDPOINTS } from '../../../src/shared/endpoints/index.ts'
import { settleUsage } from '../../../src/front/gateway/settle-usage.ts'
import { makeContext } from './context.ts'
import fc from '../../support/fast-check.ts'

const TOLD = { promptTokens: 10, completionTokens: 5, cachedTokens: 4, cacheWriteTokens: 1, reasoningTokens: 2 }
const ZERO = { promptTokens: 0, completionTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 }

it('books what the provider told of a whole answer, as exact', () => {
  const { ctx } = makeContext()
  settleUsage(ctx, { usage: TOLD, observedTextBytes: 4_000, complete: true })
  expect([ctx.tokens.usage, ctx.tokens.settlement]).toEqual([TOLD, 'exact'])
})

it('believes an explicit zero', () => {
  const { ctx } = makeContext()
  settleUsage(ctx, { usage: ZERO, observedTextBytes: 4_000, complete: true })
  expect([ctx.tokens.usage, ctx.tokens.settlement]).toEqual([ZERO, 'exact'])
})

it('marks what a client that left did not see', () => {
  const { ctx } = makeContext()
  ctx.outcome.aborted = true
  settleUsage(ctx, { usage: TOLD, observedTextBytes: 0, complete: true })
  expect(ctx.tokens.settlement).toBe('after_disconnect')
})

it('books the estimate of the prompt and four bytes a token where nothing was told', () => {
  const { ctx } = makeContext()
  settleUsage(ctx, { usage: null, observedTextBytes: 41, complete: true })
  expect(ctx.tokens.usage).toEqual({ ...ZERO, promptTokens: 40, completionTokens: 11 })
  expect(ctx.tokens.settlement).toBe('observed')
})

it('takes the larger of told and seen when an answer broke off', () => {
  for (const [bytes, completion] of [
    [4, 5],
    [400, 100],
  ] as const) {
    const { ctx } = makeContext()
    settleUsage(ctx, { usage: TOLD, observedTextBytes: bytes, complete: false })
    expect(ctx.tokens.usage).toEqual({ ...TOLD, completionTokens: completion })
    expect(ctx.tokens.settlement).toBe('observed')
  }
})

it('books nothing for counting tokens', () => {
  const { ctx } = makeContext(ENDPOINTS.countTokens)
  settleUsage(ctx, { usage: TOLD, observedTextBytes: 99, complete: true })
  expect([ctx.tokens.usage, ctx.tokens.settlement]).toEqual([ZERO, 'none'])
})

it('never books a negative number or less than was seen of a broken answer', () => {
  const usage = fc.option(
    fc.record({
      ...TOLD,
      promptTokens: fc.nat(),
      completionTokens: fc.nat(),
      cachedTokens: fc.nat(),
      cacheWriteTokens: fc.nat(),
      reasoningTokens: fc.nat(),
    }),
  )
  fc.assert(
    fc.property(usage, fc.nat(1_000_000), fc.boolean(), (told, observedTextBytes, complete) => {
      const { ctx } = makeContext()
      settleUsage(ctx, { usage: told, observedTextBytes, complete })
      for (const count of Object.values(ctx.tokens.usage)) expect(count).toBeGreaterThanOrEqual(0)
      if (told === null || !complete)
        expect(ctx.tokens.usage.completionTokens * 4).toBeGreaterThanOrEqual(observedTextBytes)
    }),
    { seed: 4_105 },
  )
})
