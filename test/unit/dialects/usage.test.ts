import { describe, expect, it } from 'vitest'
import { MessageUsage } from '../../../src/dialects/anthropic-messages/usage.ts'
import { readChatUsage } from '../../../src/dialects/openai-chat/usage.ts'
import { tokenCount } from '../../../src/dialects/common/token-count.ts'
import fc from '../../support/fast-check.ts'

describe('tokenCount', () => {
  it.each([
    [7, 7],
    [0, 0],
    [7.9, 7],
    ['12', 12],
    [' 12.7 ', 12],
    ['1e3', 1000],
    [-3, 0],
    ['-3', 0],
    [Number.NaN, 0],
    [Infinity, 0],
    [5e12, 1e9],
    ['99999999999', 1e9],
    ['', null],
    ['abc', null],
    ['0x10', null],
    [null, null],
    [undefined, null],
    [true, null],
    [{}, null],
    [[5], null],
  ])('reads %j as %j', (value, expected) => {
    expect(tokenCount(value)).toBe(expected)
  })
})

describe('chat usage', () => {
  it('reads the details, whoever writes them', () => {
    expect(
      readChatUsage({
        prompt_tokens: 100,
        completion_tokens: 50,
        prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
        completion_tokens_details: { reasoning_tokens: 20 },
      }),
    ).toEqual({ promptTokens: 100, completionTokens: 50, cachedTokens: 60, cacheWriteTokens: 30, reasoningTokens: 20 })
    expect(readChatUsage({ prompt_tokens: 9, completion_tokens: 1, prompt_cache_hit_tokens: 4 })?.cachedTokens).toBe(4)
    expect(readChatUsage({ prompt_tokens: 9, completion_tokens: 5, reasoning_tokens: 4 })?.reasoningTokens).toBe(4)
  })

  it('adds reasoning to the completion where the total shows that it was counted beside it', () => {
    const details = { completion_tokens_details: { reasoning_tokens: 290 } }
    expect(readChatUsage({ prompt_tokens: 12, completion_tokens: 1, total_tokens: 303, ...details })).toMatchObject({
      completionTokens: 291,
      reasoningTokens: 290,
    })
    expect(readChatUsage({ prompt_tokens: 12, completion_tokens: 291, total_tokens: 303, ...details })).toMatchObject({
      completionTokens: 291,
      reasoningTokens: 290,
    })
  })

  it('does not invent tokens from a total that is larger than its parts', () => {
    expect(readChatUsage({ prompt_tokens: 35, completion_tokens: 12, total_tokens: 109 })).toMatchObject({
      promptTokens: 35,
      completionTokens: 12,
    })
  })
})

describe('usage of any shape', () => {
  it('has counts between 0 and 1e9, and parts no larger than what includes them', () => {
    const count = fc.oneof(fc.double(), fc.integer(), fc.integer().map(String), fc.jsonValue({ maxDepth: 1 }))
    const details = fc.record({
      cached_tokens: count,
      cache_write_tokens: count,
      reasoning_tokens: count,
      thinking_tokens: count,
    })
    const usage = fc.record(
      {
        prompt_tokens: count,
        completion_tokens: count,
        total_tokens: count,
        input_tokens: count,
        output_tokens: count,
        cache_read_input_tokens: count,
        cache_creation_input_tokens: count,
        prompt_cache_hit_tokens: count,
        prompt_tokens_details: fc.oneof(details, count),
        completion_tokens_details: fc.oneof(details, count),
        output_tokens_details: fc.oneof(details, count),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(usage, usage, (one, other) => {
        const message = new MessageUsage()
        message.apply(one)
        message.apply(other)
        for (const read of [readChatUsage(one), message.read()]) {
          if (read === null) continue
          for (const value of Object.values(read) as number[]) {
            expect(Number.isInteger(value) && value >= 0 && value <= 1e9).toBe(true)
          }
          expect(read.cachedTokens + read.cacheWriteTokens).toBeLessThanOrEqual(read.promptTokens)
          expect(read.reasoningTokens).toBeLessThanOrEqual(read.completionTokens)
        }
      }),
      { numRuns: 500 },
    )
  })
})

describe('a count that cannot be', () => {
  it.each([-1, '-5', 2e9, 9007199254740993, '1e300'])('%j makes the whole usage one that was not told', (count) => {
    expect(readChatUsage({ prompt_tokens: 5, completion_tokens: count })).toBeNull()
    expect(readChatUsage({ prompt_tokens: count, completion_tokens: 5 })).toBeNull()
    const message = new MessageUsage()
    message.apply({ input_tokens: 5, output_tokens: 1 })
    message.apply({ output_tokens: count })
    expect(message.read()).toBeNull()
  })

  it('is not a zero', () => {
    expect(readChatUsage({ prompt_tokens: 0, completion_tokens: 0 })).toMatchObject({ completionTokens: 0 })
  })
})

describe('messages usage', () => {
  it('adds cache reads and writes to the prompt, and knows writes split by lifetime', () => {
    const usage = new MessageUsage()
    usage.apply({
      input_tokens: 5,
      output_tokens: 2,
      cache_read_input_tokens: 7,
      cache_creation: { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 2 },
    })
    expect(usage.read()).toMatchObject({ promptTokens: 15, cachedTokens: 7, cacheWriteTokens: 3 })
  })

  it('is none for anything but an object with a count', () => {
    for (const value of [null, undefined, 5, [], {}, { service_tier: 'standard' }]) {
      const usage = new MessageUsage()
      usage.apply(value)
      expect(usage.read()).toBeNull()
    }
  })
})
