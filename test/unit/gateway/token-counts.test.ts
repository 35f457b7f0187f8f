import { expect, it } from 'vitest'
import { ENDPOINTS } from '../../../src/shared/endpoints/index.ts'
import { GatewayError } from '../../../src/shared/core/errors.ts'
import { settleUsage } from '../../../src/front/gateway/settle-usage.ts'
import { TokenCounts } from '../../../src/front/gateway/token-counts.ts'
import type { CountingPool } from '../../../src/front/gateway/token-counts.ts'
import { makeContext } from './context.ts'

const counting = (tokens: () => Promise<number>, idle = true): CountingPool => ({
  idle,
  countPrompt: tokens,
  countAnswer: tokens,
})

const NOTHING_TOLD = { usage: null, observedTextBytes: 40, complete: true, answer: Buffer.from('{}') }

function countsOver(pool: CountingPool): { counts: TokenCounts; faults: unknown[] } {
  const faults: unknown[] = []
  const clock = { now: () => 0, monotonicUs: () => 0 }
  const counts = new TokenCounts({
    pool,
    clock,
    routes: { route: () => null },
    patienceMs: 10,
    onFault: (cause) => {
      faults.push(cause)
    },
  })
  return { counts, faults }
}

it('puts what was counted in the place of estimates', async () => {
  const { ctx } = makeContext(ENDPOINTS.chat)
  settleUsage(ctx, NOTHING_TOLD)
  await countsOver(counting(() => Promise.resolve(77))).counts.countUnreported(ctx)
  expect(ctx.tokens.usage).toMatchObject({ promptTokens: 77, completionTokens: 77 })
  expect(ctx.tokens.settlement).toBe('observed')
})

it('keeps the estimates when the worker dies, and says so', async () => {
  const { ctx } = makeContext(ENDPOINTS.chat)
  settleUsage(ctx, NOTHING_TOLD)
  const estimated = { ...ctx.tokens.usage }
  const { counts, faults } = countsOver(counting(() => Promise.reject(new Error('exit 1'))))
  await counts.countUnreported(ctx)
  expect(ctx.tokens.usage).toEqual(estimated)
  expect(faults).toHaveLength(2)
})

it('keeps the estimates when the count takes longer than an answer may wait', async () => {
  const { ctx } = makeContext(ENDPOINTS.chat)
  settleUsage(ctx, NOTHING_TOLD)
  const estimated = { ...ctx.tokens.usage }
  const { counts, faults } = countsOver(counting(() => new Promise<number>(() => undefined)))
  await counts.countUnreported(ctx)
  expect(ctx.tokens.usage).toEqual(estimated)
  expect(faults).toEqual([])
})

it('keeps the estimates without a word when the workers have no room', async () => {
  const { ctx } = makeContext(ENDPOINTS.chat)
  settleUsage(ctx, NOTHING_TOLD)
  const estimated = { ...ctx.tokens.usage }
  for (const idle of [true, false]) {
    const { counts, faults } = countsOver(counting(() => Promise.reject(new GatewayError('WORKERS_BUSY')), idle))
    await counts.countUnreported(ctx)
    expect(ctx.tokens.usage).toEqual(estimated)
    expect(faults).toEqual([])
  }
})

it('leaves alone what the provider told', async () => {
  const { ctx } = makeContext(ENDPOINTS.chat)
  const usage = { promptTokens: 1, completionTokens: 2, cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 }
  settleUsage(ctx, { ...NOTHING_TOLD, usage })
  expect(ctx.tokens.unreported).toBeNull()
  await countsOver(counting(() => Promise.resolve(77))).counts.countUnreported(ctx)
  expect(ctx.tokens.usage).toEqual(usage)
})
