import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { bytesOf, validate } from './refusal.ts'

const estimate = (content: unknown, fields: object = {}): number =>
  validate('chat.completions', bytesOf({ model: 'm', messages: [{ role: 'user', content }], ...fields }))
    .estimatedPromptTokens

describe('the estimate of the prompt', () => {
  it('is a little over what a provider counted for a coding agent', () => {
    const file = 'anthropic-messages/anthropic-claude-agent-sdk-v1-messages-beta-true-post-34492c67.request.json'
    const body = readFileSync(new URL(`../../fixtures/recorded/${file}`, import.meta.url))

    // The provider counted 3627.
    const { estimatedPromptTokens } = validate('messages', body)
    expect(estimatedPromptTokens).toBeGreaterThan(3627)
    expect(estimatedPromptTokens).toBeLessThan(3627 * 1.3)
  })

  it('is a few tokens for a few words', () => {
    expect(estimate('Hello')).toBeLessThan(20)
    expect(estimate('')).toBeGreaterThan(5)
  })

  it('grows with the text', () => {
    const sentence = 'The quick brown fox jumps over the lazy dog. '
    // Ten tokens by any of today's tokenizers.
    expect(estimate(sentence.repeat(1000))).toBeGreaterThan(10_000)
    expect(estimate(sentence.repeat(1000))).toBeLessThan(14_000)
  })

  it.each([
    ['Chinese', '这是一个关于网络如何工作的简单说明', 1],
    ['Russian', 'Простое объяснение того, как работает сеть', 0.5],
    ['emoji', '😀🎉🚀', 2],
  ])('counts %s by the character', (_, text, tokensPerCharacter) => {
    const characters = [...text].length * 200

    expect(estimate(text.repeat(200))).toBeGreaterThanOrEqual(characters * tokensPerCharacter)
    expect(estimate(text.repeat(200))).toBeLessThan(characters * 3)
  })

  it('counts text written in escapes as about the same as in UTF-8', () => {
    const plain = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: '简单说明'.repeat(100) }] })
    const escaped = plain.replaceAll(/[^\0-\x7f]/g, (character) => `\\u${character.charCodeAt(0).toString(16)}`)
    const tokens = [plain, escaped].map((body) => validate('chat.completions', bytesOf(body)).estimatedPromptTokens)

    expect((tokens[1] ?? 0) / (tokens[0] ?? 1)).toBeGreaterThan(0.66)
  })

  it('is the same for a small and for a large picture', () => {
    const picture = (bytes: number) => [
      { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(bytes)}` } },
    ]

    expect(estimate(picture(10_000))).toBe(estimate(picture(3_000_000)))
    expect(estimate(picture(10_000))).toBeGreaterThan(1600)
    expect(estimate(picture(10_000))).toBeLessThan(1650)
  })

  it('allows for what providers add when there are tools', () => {
    const tools = [{ type: 'function', function: { name: 'f' } }]

    expect(estimate('Hello', { tools })).toBeGreaterThan(estimate('Hello', { tools: [] }) + 400)
  })
})
