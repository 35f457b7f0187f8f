import fc from 'fast-check'
import { expect, it } from 'vitest'
import { joinBody, portable, transfersOf } from '../../../src/core/uncounted-memory.ts'

const pieces = fc.array(fc.uint8Array({ maxLength: 40_000 }), { maxLength: 6 })

it('joins pieces to what they hold and not a byte more, small and large', () => {
  fc.assert(
    fc.property(pieces, (given) => {
      expect(joinBody(given).equals(Buffer.concat(given))).toBe(true)
    }),
    { numRuns: 50 },
  )
})

it('hands bytes to another thread with no memory of others', () => {
  for (const size of [0, 10, 65_535, 65_536, 300_000]) {
    const neighbours = Buffer.alloc(size + 200, 7)
    const carried = portable(neighbours.subarray(100, 100 + size))
    expect(carried.buffer.byteLength).toBe(size)
    expect(transfersOf(carried)).toEqual(carried.buffer instanceof SharedArrayBuffer ? [] : [carried.buffer])
    expect(portable(carried).length).toBe(size)
  }
})
