import { expect, it } from 'vitest'
import { countTokens, splitTokens, VocabularyPieces } from '../../../src/simulator/tokens.ts'
import fc from '../../support/fast-check.ts'

it('counts words, marks and wide characters, but no white space', () => {
  expect(countTokens('')).toBe(0)
  expect(countTokens(' \n\t')).toBe(0)
  expect(countTokens('Hello, wörld!')).toBe(4)
  expect(countTokens('{"city":"Berlin"}')).toBe(9)
  expect(countTokens('了解しました 👍🏽')).toBe(8)
})

it('splits any text into as many pieces as it has tokens, and loses nothing', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      const pieces = splitTokens(text)
      expect(pieces.join('')).toBe(text)
      expect(pieces.length).toBe(Math.max(countTokens(text), text === '' ? 0 : 1))
    }),
  )
})

it('never tears a surrogate pair apart', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 100 }), (text) => {
      for (const piece of splitTokens(text)) expect(Buffer.from(piece).toString()).toBe(piece)
    }),
  )
})

it('gives the first pieces alone when limited', () => {
  expect(splitTokens('one two, three', 3)).toEqual(['one', ' two', ','])
})

it('makes an answer of exactly as many tokens as asked', () => {
  for (const length of [0, 1, 63, 64, 65, 500]) expect(countTokens(new VocabularyPieces(length).escaped())).toBe(length)
})
