import { expect, it } from 'vitest'
import { affinityOf } from '../../../src/front/validation/affinity.ts'

const LONG = 'The quick brown fox jumps over the lazy dog. '.repeat(200)

function chat(first: string, ...more: ReadonlyArray<{ role: string; content: unknown }>): unknown {
  return { model: 'm', messages: [{ role: 'system', content: LONG }, { role: 'user', content: first }, ...more] }
}

it('is the client word for it', () => {
  expect(affinityOf({ prompt_cache_key: 'session-7', messages: [] }, 10)).toBe('session-7')
  expect(affinityOf({ metadata: { user_id: 'user-7' }, messages: [] }, 10)).toBe('user-7')
})

it('stays the same through the turns of a conversation', () => {
  const first = affinityOf(chat('Hello'), 3_000)
  const second = affinityOf(
    chat('Hello', { role: 'assistant', content: 'Hi' }, { role: 'user', content: 'And now?' }),
    3_100,
  )
  expect(first).toEqual(expect.any(String))
  expect(second).toBe(first)
})

it('differs between conversations, in the first message or in the system prompt', () => {
  const messages = [{ role: 'user', content: LONG }]
  const all = [
    affinityOf(chat('Hello'), 3_000),
    affinityOf(chat('Hello there'), 3_000),
    affinityOf({ system: 'a', messages }, 3_000),
    affinityOf({ system: [{ type: 'text', text: 'b' }], messages }, 3_000),
    affinityOf({ messages }, 3_000),
  ]
  expect(new Set(all).size).toBe(all.length)
})

it('reads blocks of text, and passes over what is none', () => {
  const withBlocks = (text: string): string | null =>
    affinityOf({ messages: [{ role: 'user', content: [null, { type: 'image' }, { type: 'text', text }] }] }, 3_000)
  expect(withBlocks('a')).not.toBe(withBlocks('b'))
})

it.each([
  ['a short prompt', chat('Hello'), 1_000],
  ['a body without messages', { input: LONG }, 3_000],
  ['an empty word', { prompt_cache_key: '', metadata: { user_id: 7 }, messages: [] }, 10],
  ['no metadata', { metadata: null, messages: [] }, 10],
])('is nothing for %s', (_, request, tokens) => {
  expect(affinityOf(request, tokens)).toBeNull()
})
