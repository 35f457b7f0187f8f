import { describe, expect, it } from 'vitest'
import { newRequestId } from '../../../src/shared/core/request-id.ts'
import type { JournalRecord } from '../../../src/shared/core/request-record.ts'
import { fieldsInRecord } from '../../../src/shared/records/log-fields.ts'
import type { JournalFrame } from '../../../src/journal/frames.ts'
import {
  FRAME_HEADER_BYTES,
  FrameWriter,
  MAX_PAYLOAD_BYTES,
  findFrame,
  readFrames,
  readSegmentHeader,
} from '../../../src/journal/frames.ts'
import { decodeRecord, idOfBegin, packValue, unpackValue } from '../../../src/journal/record.ts'
import { aBegin, anEnd, journalRecords } from '../../contract/journal-records.ts'
import { frameAround, framesOf } from '../../contract/test-journal.ts'
import fc from '../../support/fast-check.ts'

describe('journal frames', () => {
  it('give back any records as they were written', () => {
    fc.assert(
      fc.property(fc.array(journalRecords, { maxLength: 20 }), (records) => {
        const bytes = framesOf(...records)
        const batch = readFrames(bytes, 0)
        expect(recordsOf(bytes, batch.frames)).toEqual(records)
        expect(batch).toMatchObject({ next: bytes.length, stop: 'end' })
      }),
    )
  })

  it('are written into a larger buffer when theirs is full', () => {
    const long = '\u{1f642}é'.repeat(200)
    const records = [anEnd(long), aBegin(long), anEnd('a')]
    const writer = new FrameWriter(16)
    for (const record of records) writer.append(record)
    expect(recordsOf(writer.take())).toEqual(records)
  })

  it('hold texts of every length and script', () => {
    for (const unit of ['a', 'é', '…', '😀', 'aé…😀']) {
      for (const times of [0, 1, 8, 10, 11, 15, 16, 31, 32, 33, 64, 65, 85, 86, 127, 128, 255, 256, 70_000]) {
        const records = [aBegin('a', { model: unit.repeat(times) }), anEnd('b', { userAgent: unit.repeat(times) })]
        expect(recordsOf(framesOf(...records))).toEqual(records)
      }
    }
  })

  it('are torn wherever the bytes end within one, and whole before it', () => {
    const first = framesOf(aBegin('a'))
    const bytes = Buffer.concat([first, framesOf(anEnd('a'))])
    for (let length = first.length + 1; length < bytes.length; length++) {
      const batch = readFrames(bytes.subarray(0, length), 0)
      expect(batch).toMatchObject({ next: first.length, stop: 'torn' })
      expect(recordsOf(bytes, batch.frames)).toEqual([aBegin('a')])
      expect(batch.stopFrameBytes).toBe(length < first.length + 8 ? 0 : bytes.length - first.length)
    }
  })

  it('never give another record when a bit is wrong', () => {
    const bytes = framesOf(anEnd('a'), anEnd('b'))
    fc.assert(
      fc.property(fc.nat(bytes.length * 8 - 1), (bit) => {
        const damaged = Buffer.from(bytes)
        damaged.writeUInt8(damaged.readUInt8(bit >>> 3) ^ (1 << (bit & 7)), bit >>> 3)
        const batch = readFrames(damaged, 0)
        expect(batch.stop === 'torn' || batch.stop === 'corrupt').toBe(true)
        for (const record of recordsOf(damaged, batch.frames)) expect(record).toEqual(anEnd('a'))
      }),
      { numRuns: 500 },
    )
  })

  it('are corrupt where the length is zero or absurd', () => {
    const absurd = Buffer.alloc(16)
    absurd.writeUInt32LE(MAX_PAYLOAD_BYTES + 1)
    expect(readFrames(Buffer.alloc(64), 0)).toMatchObject({ next: 0, stop: 'corrupt', stopFrameBytes: 0 })
    expect(readFrames(absurd, 0)).toMatchObject({ next: 0, stop: 'corrupt', stopFrameBytes: 0 })
  })

  it('are whole also when the payload is no record', () => {
    const bytes = Buffer.concat([frameAround(packValue({ some: 'map' })), framesOf(aBegin('a'))])
    const batch = readFrames(bytes, 0)
    expect(batch).toMatchObject({ frames: [{ start: 0 }, { end: bytes.length }], stop: 'end' })
    expect(() => recordsOf(bytes)).toThrow('not an array of fields')
  })

  it('tell the id of a begin, and of nothing else', () => {
    fc.assert(
      fc.property(journalRecords, (record) => {
        const payload = payloadOf(record)
        const expected = record.kind === 'begin' && record.id.length < 32 ? record.id : null
        expect(idOfBegin(payload, 0, payload.length)).toBe(expected)
      }),
    )
    for (const id of ['a', 'é', '', 'x'.repeat(31), 'x'.repeat(32), newRequestId(1_735_732_800_000)]) {
      const payload = payloadOf(aBegin(id))
      expect([id, null]).toContain(idOfBegin(payload, 0, payload.length))
    }
    const ours = payloadOf(aBegin(newRequestId(1_735_732_800_000)))
    expect(idOfBegin(ours, 0, ours.length)).toMatch(/^req_/)
    for (let end = 0; end < 35; end++) expect(idOfBegin(ours, 0, end)).toBeNull()
    for (const value of [{ some: 'map' }, [1, 'short'], [3, ...beginFields.slice(1)], 'text', null]) {
      const payload = packValue(value)
      expect(idOfBegin(payload, 0, payload.length)).toBeNull()
    }
  })

  it('stop after as many as asked', () => {
    const one = framesOf(aBegin('a')).length
    const batch = readFrames(framesOf(aBegin('a'), aBegin('b')), 0, 1)
    expect(batch).toMatchObject({ next: one, stop: 'limit' })
  })

  it('decode when the writer is newer and its records have more fields', () => {
    const newer = [...beginFields, 'a field of the future']
    expect(recordsOf(frameAround(packValue(newer)))).toEqual([aBegin('a')])
  })

  it('decode when the writer is older and its records have fewer fields', () => {
    const endFields = unpackValue(framesOf(anEnd('b')).subarray(8)) as unknown[]
    const attempts = (endFields[22] as unknown[][]).map((fields) => fields.slice(0, 6))
    const older = [beginFields.slice(0, 16), endFields.slice(0, 34).with(22, attempts)]
    const before = anEnd('b').attempts.map((attempt) => ({ ...attempt, model: null, choice: null }))
    const records = older.flatMap((fields) => recordsOf(frameAround(packValue(fields))))
    expect(records).toEqual([
      aBegin('a', laterFields('begin')),
      anEnd('b', { ...laterFields('end'), attempts: before }),
    ])
  })

  it('are found again behind damage, and never in the text of a client', () => {
    const good = framesOf(anEnd('b'))
    expect(findFrame(Buffer.concat([Buffer.alloc(100, 7), good]), 0)).toBe(100)
    const posing = anEnd('a', { userAgent: framesOf(anEnd('forged')).toString('utf8') })
    expect(findFrame(framesOf(posing), 1)).toBe(-1)
    expect(findFrame(framesOf(anEnd('a', { userAgent: framesOf(anEnd('x')).toString('latin1') })), 1)).toBe(-1)
  })

  it('stay small: an end record with one attempt is below 350 bytes', () => {
    expect(framesOf(anEnd('req_m3abcdefgh1234567890abcdef000001', { tags: null })).length).toBeLessThan(350)
  })
})

describe('a frame writer', () => {
  it('leaves taken bytes alone until the next take', () => {
    const writer = new FrameWriter(16)
    writer.append(aBegin('a'))
    const taken = writer.take()
    const copy = Buffer.from(taken)
    for (let i = 0; i < 50; i++) writer.append(anEnd('b'))
    expect(taken.equals(copy)).toBe(true)
    expect(recordsOf(writer.take())).toHaveLength(50)
  })

  it('has nothing pending after a take', () => {
    const writer = new FrameWriter()
    writer.append(aBegin('a'))
    expect(writer.pendingBytes).toBeGreaterThan(0)
    writer.take()
    expect(writer.pendingBytes).toBe(0)
    expect(writer.take()).toHaveLength(0)
  })
})

describe('a segment header', () => {
  const header = { writer: 'front-1', pid: 7, startTicks: '12', bootId: null, createdAtMs: 1_700_000_000_000 }
  const writer = new FrameWriter()
  writer.appendHeader(header)
  const bytes = Buffer.from(writer.take())

  it('is read back with the place of the first record', () => {
    const segment = Buffer.concat([bytes, framesOf(aBegin('a'))])
    expect(readSegmentHeader(segment)).toEqual({ header, end: bytes.length })
  })

  it('is torn at every shorter length', () => {
    for (let length = 0; length < bytes.length; length++) {
      expect(readSegmentHeader(bytes.subarray(0, length))).toBe('torn')
    }
  })

  it('is corrupt with another magic, checksum or content', () => {
    const badSum = Buffer.from(bytes)
    badSum.writeUInt8(badSum.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1)
    const otherContent = Buffer.concat([bytes.subarray(0, 8), frameAround(packValue(['no header']))])
    expect(readSegmentHeader(Buffer.from('NOTSLUICE'))).toBe('corrupt')
    expect(readSegmentHeader(badSum)).toBe('corrupt')
    expect(readSegmentHeader(otherContent)).toBe('corrupt')
  })
})

const { id, atMs, endpoint, dialect, keyId, keyMasked, userId, enterpriseId, departmentId, memberId } = aBegin('a')
const { model, stream, userAgent, clientAddress, clientRequestId, traceId, tags } = aBegin('a')
const beginFields: unknown[] = [
  ...[1, id, atMs, endpoint, dialect, keyId, keyMasked, userId, enterpriseId, departmentId, memberId],
  ...[model, stream, userAgent, clientAddress, clientRequestId, traceId, tags?.flat()],
]

/** What the first versions did not write. */
function laterFields(kind: 'begin' | 'end'): Readonly<Record<string, null>> {
  const later = fieldsInRecord(kind).slice(kind === 'begin' ? 15 : 33)
  return Object.fromEntries(later.map(({ name }) => [name, null]))
}

function payloadOf(record: JournalRecord): Buffer {
  return framesOf(record).subarray(FRAME_HEADER_BYTES)
}

function recordsOf(bytes: Buffer, frames: readonly JournalFrame[] = readFrames(bytes, 0).frames): JournalRecord[] {
  return frames.map(({ start, end }) => decodeRecord(bytes, start + FRAME_HEADER_BYTES, end))
}
