import { describe, expect, it } from 'vitest'
import { ChunkedDecoder } from '../../../src/front/upstream/http1/chunked-decoder.ts'
import fc from '../../support/fast-check.ts'
import { LineChunkedDecoder } from '../../support/line-chunked-decoder.ts'

interface Decoded {
  /** The bytes that each push passed on, in Latin-1. */
  readonly pieces: string[]
  /** Bytes that belong to the body. */
  readonly taken: number
  readonly isComplete: boolean
  readonly error: string | null
}

const CHUNK = fc.record({
  size: fc.oneof(
    { weight: 8, arbitrary: fc.constant(null) },
    fc.constantFrom('', 'g', '-1', '0x5', '1 2', '00000000000a', '0000000000000a', 'ffffffffffff', '\u00005', ' 5'),
  ),
  upperCase: fc.boolean(),
  after: fc.oneof(
    { weight: 8, arbitrary: fc.constant('') },
    fc.constantFrom(
      ' ',
      '\t ',
      ';',
      ';a=b',
      ' ;a="é"',
      '\u000b',
      ';\u0000',
      ';\r',
      '\r',
      `;${'x'.repeat(5_000)}`,
      '; \n',
    ),
  ),
  bytes: fc.string({ unit: 'binary', maxLength: 40 }).map((text) => Buffer.from(text).toString('latin1')),
  end: fc.oneof({ weight: 12, arbitrary: fc.constant('\r\n') }, fc.constantFrom('\n', '\r', '', 'x\r\n', '\r\r\n')),
})

const TRAILERS = fc.oneof(
  { weight: 6, arbitrary: fc.constant('\r\n') },
  fc.constantFrom('X: 1\r\n\r\n', '\n', 'X: 1\n\r\n', '\r\r\n\r\n', `X: ${'y'.repeat(4_000)}\r\n`.repeat(17) + '\r\n'),
)

const BODY = fc
  .tuple(
    fc.array(CHUNK, { maxLength: 6 }),
    fc.constantFrom('0', '000', '0;x', ''),
    TRAILERS,
    fc.constantFrom('', 'more'),
  )
  .map(([chunks, last, trailers, behind]) => {
    const written = chunks.map(({ size, upperCase, after, bytes, end }) => {
      const digits = bytes.length.toString(16)
      return `${size ?? (upperCase ? digits.toUpperCase() : digits)}${after}\r\n${bytes}${end}`
    })
    return Buffer.from(`${written.join('')}${last}\r\n${trailers}${behind}`, 'latin1')
  })

describe('the decoder of the chunked coding', () => {
  it('gives what the decoder by lines gives, however a body is cut and mutilated', () => {
    const cuts = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 20 })
    const changes = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 2 })
    fc.assert(
      fc.property(BODY, cuts, changes, (body, lengths, mutations) => {
        for (const [place, byte] of mutations) body[place % body.length] = byte
        expect(decoded(body, lengths)).toEqual(decodedByLines(body, lengths))
      }),
      { numRuns: 1_000 },
    )
  })

  it('gives the same for whole reads and for single bytes', () => {
    fc.assert(
      fc.property(BODY, (body) => {
        for (const lengths of [[body.length], [1]])
          expect(decoded(body, lengths)).toEqual(decodedByLines(body, lengths))
      }),
      { numRuns: 300 },
    )
  })

  it.each([1, 4_095, 4_096, 4_097])('bounds a line at %i bytes', (length) => {
    for (const start of ['5;', '5', '0\r\n', '2\r\nab']) {
      const body = Buffer.from(`${start}${'x'.repeat(length)}\r\n`)
      for (const cut of [body.length, 1_000, 1]) expect(decoded(body, [cut])).toEqual(decodedByLines(body, [cut]))
    }
  })
})

function decoded(body: Buffer, lengths: readonly number[]): Decoded {
  const pieces: string[] = []
  const decoder = new ChunkedDecoder((bytes, from, to) => {
    pieces.push(bytes.toString('latin1', from, to))
  })
  return { pieces, ...pushed(body, lengths, decoder, (bytes) => decoder.push(bytes, 2, bytes.length)) }
}

function decodedByLines(body: Buffer, lengths: readonly number[]): Decoded {
  const pieces: string[] = []
  const decoder = new LineChunkedDecoder((bytes) => {
    pieces.push(bytes.toString('latin1'))
  })
  return { pieces, ...pushed(body, lengths, decoder, (bytes) => decoder.push(bytes, 2)) }
}

/** Pushes the body in pieces of these lengths, in turn. Each is in a buffer of its own, which is overwritten behind the push. */
function pushed(
  body: Buffer,
  lengths: readonly number[],
  decoder: { readonly isComplete: boolean },
  push: (bytes: Buffer) => number,
): Omit<Decoded, 'pieces'> {
  let taken = 0
  let error: string | null = null
  try {
    for (let at = 0, turn = 0; at < body.length && !decoder.isComplete; turn++) {
      const length = lengths[turn % lengths.length] ?? 1
      const bytes = Buffer.concat([Buffer.from('??'), body.subarray(at, at + length)])
      taken += push(bytes)
      bytes.fill('!')
      at += length
    }
  } catch (cause) {
    error = (cause as Error).message
  }
  return { taken, isComplete: decoder.isComplete, error }
}
