import { describe, expect, it } from 'vitest'
import { attemptsJson } from '../../../src/control/store/attempts-json.ts'
import { attemptRecords } from '../../contract/journal-records.ts'
import fc from '../../support/fast-check.ts'

describe('attempts as JSON', () => {
  it('are what JSON.stringify makes of them, byte for byte', () => {
    fc.assert(
      fc.property(fc.array(attemptRecords, { maxLength: 3 }), (attempts) => {
        expect(attemptsJson(attempts)).toBe(JSON.stringify(attempts))
      }),
    )
  })

  it('hold quotes, control characters and numbers that are none', () => {
    const [attempt] = fc.sample(attemptRecords, 1)
    for (const text of ['"', '\\', '\0', '\n', '\u007f', 'é', '😀', '\ud800', '']) {
      const attempts = [{ ...attempt!, providerId: text, model: text, startUs: NaN, durationUs: 1e21 }]
      expect(attemptsJson(attempts)).toBe(JSON.stringify(attempts))
    }
  })
})
