import { expect, it } from 'vitest'
import { FrameDecoder, createFrameEncoder } from '../../../src/shared/wire/link-frames.ts'
import fc from '../../support/fast-check.ts'

const value = fc.oneof(
  fc.string(),
  fc.integer(),
  fc.constant(null),
  fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.boolean(), fc.array(fc.string()))),
  fc.record({ id: fc.nat(), last: fc.boolean(), text: fc.string({ maxLength: 5_000 }) }),
)

function decode(decoder: FrameDecoder, chunk: Buffer): unknown[] {
  const values: unknown[] = []
  decoder.push(chunk, (one) => values.push(one))
  return values
}

it('gives back every value in order, however the bytes are cut', () => {
  fc.assert(
    fc.property(fc.array(value, { maxLength: 8 }), fc.array(fc.nat(), { maxLength: 30 }), (values, cuts) => {
      const encode = createFrameEncoder()
      const bytes = Buffer.concat(values.map((one) => encode(one)))
      const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b)
      const decoder = new FrameDecoder()
      const decoded: unknown[] = []
      let from = 0
      for (const to of [...places, bytes.length]) {
        // Every chunk is a buffer of its own, as a socket gives them.
        decoded.push(...decode(decoder, Buffer.from(bytes.subarray(from, to))))
        from = to
      }
      expect(decoded).toEqual(values.map((one) => structuredClone(one)))
    }),
    { seed: 4_104 },
  )
})

it('gives a value with its last byte, not before', () => {
  const bytes = createFrameEncoder()({ a: 'b' })
  const decoder = new FrameDecoder()
  for (let i = 0; i < bytes.length - 1; i++) expect(decode(decoder, bytes.subarray(i, i + 1))).toEqual([])
  expect(decode(decoder, bytes.subarray(bytes.length - 1))).toEqual([{ a: 'b' }])
})

it('carries binary values whole', () => {
  const binary = Buffer.from(Array.from({ length: 70_000 }, (_, i) => i & 255))
  const bytes = createFrameEncoder()({ bytes: binary })
  const decoder = new FrameDecoder()
  const first = decode(decoder, bytes.subarray(0, 9))
  const [message] = [...first, ...decode(decoder, bytes.subarray(9))] as Array<{ bytes: Uint8Array }>
  expect(Buffer.from(message?.bytes ?? []).equals(binary)).toBe(true)
})

it('refuses a frame longer than it may be before it comes', () => {
  const header = Buffer.alloc(4)
  header.writeUInt32LE(0xffff_ffff)
  expect(() => decode(new FrameDecoder(), header)).toThrow(RangeError)
})
