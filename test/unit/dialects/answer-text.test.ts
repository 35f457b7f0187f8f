import { expect, it } from 'vitest'
import { textBytes } from '../../../src/dialects/common/answer-text.ts'
import { REPEATED_NAMES, TEXT_NAMES, TextMeter } from '../../../src/dialects/common/json-bytes.ts'
import fc from '../../support/fast-check.ts'

const name = fc.constantFrom(...TEXT_NAMES, ...REPEATED_NAMES, 'type', 'function', 'tool_calls')
const { message } = fc.letrec((tie) => ({
  message: fc.oneof(
    { depthSize: 'small' },
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom(null, true, 0, 1.5),
    fc.array(tie('message'), { maxLength: 3 }),
    fc.dictionary(name, tie('message'), { maxKeys: 4, noNullPrototype: true }),
  ),
}))

it('counts in a parsed message what the meter of a stream counts in its bytes', () => {
  fc.assert(
    fc.property(message, (value) => {
      const meter = new TextMeter()
      const json = Buffer.from(JSON.stringify(value))
      meter.walk(json, 0, json.length)
      expect(textBytes(value)).toBe(meter.total)
    }),
    { numRuns: 1_000 },
  )
})
