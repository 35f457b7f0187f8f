import { describe, expect, it } from 'vitest'
import { crc32c } from '../../../src/journal/crc32c.ts'
import fc from '../../support/fast-check.ts'

describe('crc32c', () => {
  it('gives the checksums of RFC 3720, B.4', () => {
    const ascending = Uint8Array.from({ length: 32 }, (_, index) => index)
    const scsiRead = Buffer.from(
      '01c00000000000000000000000000000140000000000040000000014000000182800000000000000' + '0200000000000000',
      'hex',
    )
    expect(crc32c(new Uint8Array(32))).toBe(0x8a9136aa)
    expect(crc32c(new Uint8Array(32).fill(0xff))).toBe(0x62a8ab43)
    expect(crc32c(ascending)).toBe(0x46dd794e)
    expect(crc32c(ascending.reverse())).toBe(0x113fdb5c)
    expect(crc32c(scsiRead)).toBe(0xd9963a56)
  })

  it('gives the check value of the catalogue, and 0 for nothing', () => {
    expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283)
    expect(crc32c(new Uint8Array())).toBe(0)
  })

  it('agrees with the bit by bit definition on every range of every input', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), fc.nat(80), fc.nat(80), (bytes, a, b) => {
        const start = Math.min(a, b, bytes.length)
        const end = Math.min(Math.max(a, b), bytes.length)
        expect(crc32c(bytes, start, end)).toBe(bitwise(bytes.subarray(start, end)))
      }),
    )
  })
})

function bitwise(bytes: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1
  }
  return (crc ^ 0xffffffff) >>> 0
}
