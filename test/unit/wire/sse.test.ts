import { describe, expect, it } from 'vitest'
import { SseEventTooLargeError, SseFields, SseSplitter, joinData } from '../../../src/shared/wire/sse.ts'
import fc from '../../support/fast-check.ts'
import { loadFixtures } from '../../support/recorded-fixtures.ts'
import { byteByByte, cutAt, eventsOf, fieldsOf, seededCuts } from './sse-oracle.ts'

/** Pieces that make awkward streams: every kind of line end beside fields, comments and multi-byte characters. */
const awkwardStream = fc
  .array(
    fc.constantFrom(
      '\n',
      '\r',
      '\r\n',
      '\n\n',
      '\r\r',
      '\r\n\r\n',
      'data: {"a":"é😀"}',
      'data:x',
      'event: e',
      ':c',
      'x',
    ),
    { maxLength: 40 },
  )
  .map((pieces) => Buffer.from(pieces.join('')))

function split(chunks: readonly Buffer[], splitter = new SseSplitter()): string[] {
  const events: string[] = []
  const views: Array<[Buffer, number, number]> = []
  const onEvent = (bytes: Buffer, start: number, end: number): void => {
    events.push(bytes.toString('latin1', start, end))
    views.push([bytes, start, end])
  }
  for (const chunk of chunks) splitter.split(chunk, onEvent)
  splitter.finish(onEvent)
  // What was handed out must stay as it was: the relay may queue it.
  expect(views.map(([bytes, start, end]) => bytes.toString('latin1', start, end))).toEqual(events)
  return events
}

describe('SseSplitter', () => {
  it('cuts like a simple parser of the whole text, however the stream is split', () => {
    fc.assert(
      fc.property(awkwardStream, fc.array(fc.nat(400), { maxLength: 12 }), (stream, cuts) => {
        const expected = eventsOf(stream)
        expect(split([stream])).toEqual(expected)
        expect(split(cutAt(stream, cuts))).toEqual(expected)
        expect(split(byteByByte(stream))).toEqual(expected)
        expect(expected.join('')).toBe(stream.toString('latin1'))
      }),
      { numRuns: 2000 },
    )
  })

  it('cuts every recorded stream the same whole, byte by byte and at random places', () => {
    const streams = loadFixtures((fixture) => fixture.kind === 'stream')
    let events = 0
    for (const { response, id } of streams) {
      const expected = eventsOf(response)
      events += expected.length
      expect(split([response]), id).toEqual(expected)
      expect(split(byteByByte(response)), id).toEqual(expected)
      for (let seed = 1; seed <= 5; seed++) {
        expect(split(cutAt(response, seededCuts(response.length, seed))), id).toEqual(expected)
      }
    }
    expect(streams.length).toBeGreaterThanOrEqual(200)
    expect(events).toBeGreaterThan(4000)
  })

  it('keeps CR and LF of a line end together when a chunk ends between them', () => {
    expect(split(['data: a\r', '\n\r', '\ndata: b\r', '\n', '\r', '\n'].map((text) => Buffer.from(text)))).toEqual([
      'data: a\r\n\r\n',
      'data: b\r\n\r\n',
    ])
  })

  it('hands out events within a chunk without copying them', () => {
    const chunk = Buffer.from('data: a\n\ndata: b\n\ndata: c')
    const seen: Array<[boolean, number, number]> = []
    const splitter = new SseSplitter()
    splitter.split(chunk, (bytes, start, end) => void seen.push([bytes === chunk, start, end]))
    expect(seen).toEqual([
      [true, 0, 9],
      [true, 9, 18],
    ])
    expect(splitter.rest().toString()).toBe('data: c')
  })

  it('hands the rest out at the end although its blank line is missing', () => {
    expect(split([Buffer.from('data: a\n\ndata: [DONE]')])).toEqual(['data: a\n\n', 'data: [DONE]'])
    expect(split([Buffer.from('data: a\n\ndata: [DONE]\n')])).toEqual(['data: a\n\n', 'data: [DONE]\n'])
    expect(split([Buffer.from('data: a\r\r')])).toEqual(['data: a\r\r'])
    expect(split([])).toEqual([])
  })

  it('stops for good when the listener returns false', () => {
    const splitter = new SseSplitter()
    const seen: string[] = []
    const onFirst = (bytes: Buffer, start: number, end: number): boolean => {
      seen.push(bytes.toString('utf8', start, end))
      return false
    }
    expect(splitter.split(Buffer.from('data: a\n\ndata: b\n\n'), onFirst)).toBe(false)
    expect(splitter.split(Buffer.from('data: c\n\n'), onFirst)).toBe(false)
    splitter.finish(onFirst)
    expect(seen).toEqual(['data: a\n\n'])
  })

  it('refuses an event over the limit, in one chunk or in many, and takes one of exactly the limit', () => {
    const event = Buffer.from(`data: ${'x'.repeat(92)}\n\n`)
    expect(event.length).toBe(100)
    for (const chunks of [[event], byteByByte(event)]) {
      expect(split(chunks, new SseSplitter(100))).toHaveLength(1)
      expect(() => split(chunks, new SseSplitter(99))).toThrow(SseEventTooLargeError)
    }
    expect(() => split(byteByByte(Buffer.alloc(200, 0x78)), new SseSplitter(150))).toThrow(SseEventTooLargeError)
  })

  it('hands out the events before one that is too large', () => {
    const seen: string[] = []
    const splitter = new SseSplitter(10)
    expect(() =>
      splitter.split(Buffer.from('data: a\n\ndata: bbbbbbbbbbbb\n\n'), (bytes, start, end) => {
        seen.push(bytes.toString('utf8', start, end))
      }),
    ).toThrow(SseEventTooLargeError)
    expect(seen).toEqual(['data: a\n\n'])
  })

  it('copies each byte of a long line a fixed number of times, not once per chunk', () => {
    const line = Buffer.from(`data: ${'x'.repeat(1024 * 1024)}\n\n`)
    const splitter = new SseSplitter()
    const chunk = Buffer.alloc(1)
    let copied = 0
    let previous: ArrayBufferLike | null = null
    let handedOut = 0
    for (const byte of line) {
      chunk[0] = byte
      splitter.split(chunk, (bytes, start, end) => {
        handedOut += end - start
        expect(bytes.subarray(start, end).equals(line)).toBe(true)
      })
      const rest = splitter.rest()
      if (rest.length > 0 && rest.buffer !== previous) {
        copied += rest.length
        previous = rest.buffer
      }
    }
    expect(handedOut).toBe(line.length)
    expect(copied).toBeLessThan(2 * line.length)
  })
})

describe('SseFields and joinData', () => {
  it('read name and payload like a simple parser, for all recorded events', () => {
    const fields = new SseFields()
    let named = 0
    for (const { response, id } of loadFixtures((fixture) => fixture.kind === 'stream')) {
      new SseSplitter().split(response, (bytes, start, end) => {
        const { name, data } = fieldsOf(bytes.toString('latin1', start, end))
        fields.read(bytes, start, end)
        expect(bytes.toString('utf8', fields.nameStart, fields.nameEnd), id).toBe(name)
        if (name !== '') named++
        if (fields.dataLines <= 1) {
          expect(fields.dataLines === 0 ? null : bytes.toString('utf8', fields.dataStart, fields.dataEnd), id).toBe(
            data,
          )
        }
        expect(joinData(bytes, start, end)?.toString() ?? null, id).toBe(data)
      })
    }
    expect(named).toBeGreaterThan(1000)
  })

  it('joins payloads like a simple parser, whatever the line ends', () => {
    const line = fc.constantFrom(
      'data: a',
      'data:b',
      'data',
      'data:  c',
      'data:',
      'datax: d',
      'event: n',
      'event:m',
      ': c',
      'id: 1',
    )
    const end = fc.constantFrom('\n', '\r', '\r\n')
    fc.assert(
      fc.property(fc.array(fc.tuple(line, end), { minLength: 1, maxLength: 6 }), fc.boolean(), (lines, mark) => {
        const event = Buffer.from((mark ? '\uFEFF' : '') + lines.map((pair) => pair.join('')).join(''))
        const padded = Buffer.concat([Buffer.from('data: before\n\n'), event, Buffer.from('data: behind\n\n')])
        const from = 14
        const expected = fieldsOf(event.toString('latin1'))
        expect(joinData(padded, from, from + event.length)?.toString() ?? null).toBe(expected.data)
        // A reader of names and single lines needs one kind of line end within an event.
        if (new Set(lines.map(([, lineEnd]) => lineEnd)).size > 1) return
        const fields = new SseFields()
        fields.read(padded, from, from + event.length)
        expect(padded.toString('utf8', fields.nameStart, fields.nameEnd)).toBe(expected.name)
        expect(fields.dataLines > 0).toBe(expected.data !== null)
        if (fields.dataLines === 1)
          expect(padded.toString('utf8', fields.dataStart, fields.dataEnd)).toBe(expected.data)
      }),
      { numRuns: 2000 },
    )
  })
})
