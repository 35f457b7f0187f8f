import { describe, expect, it } from 'vitest'
import { imageBlock } from '../../../src/shared/core/content.ts'
import { clientCodec } from '../../../src/dialects/codecs.ts'
import { countPrompt } from '../../../src/front/tokens/count-prompt.ts'
import { familyOf } from '../../../src/front/tokens/families.ts'
import { imageCost } from '../../../src/front/tokens/image-cost.ts'
import { imageSize } from '../../../src/front/tokens/image-size.ts'
import { TextCounter } from '../../../src/front/tokens/text-counter.ts'
import { countTextTokens } from '../../../src/front/tokens/tokenizer.ts'
import fc from '../../support/fast-check.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

describe('the tokenizer', () => {
  it('counts as o200k does', () => {
    expect(['', 'hello world', '你好', '{"a":[1,2,3]}'].map(countTextTokens)).toEqual([0, 2, 1, 9])
  })

  it('takes special tokens for text', () => {
    expect(countTextTokens('<|endoftext|>')).toBeGreaterThan(1)
  })

  it('counts long runs without a break in pieces, to within a few tokens in a hundred', () => {
    for (const [run, tokens] of [
      ['='.repeat(64 * 50), 50],
      ['漢字'.repeat(2_000), 4_000],
    ] as const) {
      expect(countTextTokens(run)).toBeGreaterThan(tokens * 0.4)
      expect(countTextTokens(run)).toBeLessThan(tokens * 1.2)
    }
  })

  it('never cuts a character in two', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('😀', '漢', 'é', 'a'), maxLength: 300 }), (text) => {
        // A half of a character costs three tokens: many of them would show.
        expect(countTextTokens(text)).toBeLessThanOrEqual(Buffer.byteLength(text))
      }),
      { seed: 7_301 },
    )
  })
})

it('samples texts beyond its bound evenly, and counts no more than the bound', () => {
  let counted = 0
  const countOne = (text: string): number => {
    counted += text.length
    return text.length
  }
  const texts = Array.from({ length: 400 }, (_text, i) => 'x'.repeat(1_000 + 37 * i))
  const total = texts.reduce((sum, text) => sum + text.length, 0)
  const counter = new TextCounter(countOne, total)
  const tokens = texts.reduce((sum, text) => sum + counter.count(text), 0)
  expect(total).toBeGreaterThan(3_000_000)
  expect(counted).toBeLessThan(540_000)
  expect(Math.abs(tokens / total - 1)).toBeLessThan(0.001)
})

it('knows a family by the name among vendors, regions and versions', () => {
  const names = {
    'us.anthropic.claude-haiku-4-5-20251001-v1:0': 'claude-4.5',
    'anthropic/claude-sonnet-4.6': 'claude-4.5',
    'claude-3-opus-20240229': 'claude',
    'claude-sonnet-4-20250514': 'claude',
    'claude-opus-4-8': 'claude-5',
    'openai/gpt-oss-120b': 'gpt-oss',
    'gpt-5-mini': 'gpt-5',
    'o4-mini': 'gpt',
    'meta-llama/Llama-3.3-70B-Instruct': 'llama',
    'Qwen/Qwen3-4B': 'qwen',
    'my-own-model': 'other',
  }
  expect(Object.keys(names).map((name) => familyOf(name).name)).toEqual(Object.values(names))
})

it('never counts less for a longer prompt, and at least one', () => {
  const count = (content: string, model: string): number =>
    countPrompt(
      clientCodec('openai-chat').parseRequest({ model, messages: [{ role: 'user', content }] }),
      model,
      countTextTokens,
    )
  fc.assert(
    fc.property(fc.lorem(), fc.lorem(), fc.constantFrom('gpt-4o', 'claude-opus-4-8', 'sonar', 'x'), (a, b, model) => {
      expect(count('', model)).toBeGreaterThanOrEqual(1)
      expect(count(`${a}\n\n${b}`, model)).toBeGreaterThanOrEqual(count(a, model))
    }),
    { seed: 7_302, numRuns: 50 },
  )
})

describe('pictures', () => {
  const jpeg = Buffer.from('ffd8ffe000104a46494600010100000100010000ffc0001108006400c803012200', 'hex')
  const picture = (data: string, detail: string | null = null): ReturnType<typeof imageBlock> =>
    imageBlock({ kind: 'base64', mediaType: 'image/png', data }, { detail })
  const wide = picture(jpeg.toString('base64'))

  it('tell their size in their header', () => {
    expect(imageSize(PNG)).toEqual({ width: 1, height: 1 })
    expect(imageSize(jpeg.toString('base64'))).toEqual({ width: 200, height: 100 })
    expect(imageSize(Buffer.from('GIF89a\x03\x00\x02\x00').toString('base64'))).toEqual({ width: 3, height: 2 })
    for (const nothing of ['', 'AAAA', '/9j/', 'not base64']) expect(imageSize(nothing)).toBeNull()
  })

  it('cost what their family makes of their size', () => {
    const cost = (model: string, image: ReturnType<typeof imageBlock>): number =>
      imageCost(image, familyOf(model).prompt.image)
    expect(cost('gpt-4o', picture(PNG))).toBe(85 + 170)
    expect(cost('gpt-4o', picture(PNG, 'low'))).toBe(85)
    expect(cost('gpt-4o-mini', picture(PNG))).toBe(8_500)
    expect(cost('claude-opus-4-8', wide)).toBe(8 * 4)
    expect(cost('gemini-2.5-pro', wide)).toBe(258)
    expect(cost('claude-opus-4-8', imageBlock({ kind: 'url', url: 'https://example.com/a.png' }))).toBe(1_100)
  })
})
