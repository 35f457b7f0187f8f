import { describe, expect, it } from 'vitest'
import { findJsonFault } from '../../../src/front/validation/json-error.ts'
import fc from '../../support/fast-check.ts'

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

describe('findJsonFault', () => {
  it('finds a fault exactly where JSON.parse refuses', () => {
    const pieces = fc.constantFrom(
      ...'{}[]",:\\ \n-+.eEu01'.split(''),
      '"a"',
      '"a":',
      '1.5',
      'true',
      'nul',
      '\\u00e9',
      '\u0001',
      'é',
    )
    const soup = fc.array(pieces, { maxLength: 30 }).map((list) => list.join(''))
    const cutJson = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom('', ',', '"', '}', '0', '\\'))
      .map(([text, at, insert]) => {
        const cut = at % (text.length + 1)
        return text.slice(0, cut) + insert + text.slice(cut)
      })
    fc.assert(
      fc.property(fc.oneof(soup, cutJson, fc.json()), (text) => {
        expect(findJsonFault(Buffer.from(text)) === null).toBe(parses(text))
      }),
      { numRuns: 5000 },
    )
  })

  it('finds the first byte that no valid text could go on with', () => {
    expect(findJsonFault(Buffer.from('[1, 2,, 3]'))).toMatchObject({ offset: 6, line: 1, column: 7 })
    expect(findJsonFault(Buffer.from('{"a": "b"\n "c"}'))).toMatchObject({ offset: 11, line: 2, column: 2 })
    expect(findJsonFault(Buffer.from('["😀é", x]'))).toMatchObject({ offset: 11, line: 1, column: 8 })
    expect(findJsonFault(Buffer.from('{} {}'))).toMatchObject({ offset: 3, problem: 'nothing more is expected here' })
  })

  it('takes junk of any length', () => {
    for (const junk of [
      `[${'1'.repeat(20_000_000)}x`,
      ' '.repeat(5_000_000),
      `"${'\\\\'.repeat(2_000_000)}`,
      '['.repeat(100_000),
    ]) {
      expect(findJsonFault(Buffer.from(junk))).not.toBeNull()
    }
  })
})
