import { describe, expect, it } from 'vitest'
import { rowOfEnd } from '../../../src/control/settlement/rows.ts'
import { EndTranscriber } from '../../../src/control/settlement/transcribe-end.ts'
import type { Queryable } from '../../../src/control/store/database.ts'
import { LogRows } from '../../../src/control/store/log-rows.ts'
import { FRAME_HEADER_BYTES } from '../../../src/journal/frames.ts'
import { decodeRecord } from '../../../src/journal/record.ts'
import { anEnd, aBegin, endRecords } from '../../contract/journal-records.ts'
import { framesOf } from '../../contract/test-journal.ts'
import fc from '../../support/fast-check.ts'

const NODE = 'node-1'

describe('an end record transcribed byte by byte', () => {
  it.each([
    ['a plain one', {}],
    ['without an attempt', { attempts: [], servedModel: null, providerId: null, upstreamKeyId: null }],
    ['with a long agent beyond ASCII', { userAgent: 'agent/1 '.repeat(40) + '…' }],
    ['with numbers to round', { queueUs: -3, totalUs: 10.6, ttftUs: null }],
    ['with large numbers', { totalUs: 2 ** 40, usage: { ...anEnd('a').usage, promptTokens: 2 ** 32 } }],
  ])('is the row that decoding it gives: %s', async (_, changes) => {
    const bytes = payloadOf(framesOf(anEnd('req_a', changes)))
    expect(await transcribed(bytes)).toEqual(await decoded(bytes))
  })

  it('is that row for whatever record, or is left to decoding', async () => {
    let plain = 0
    await fc.assert(
      fc.asyncProperty(endRecords, async (record) => {
        const bytes = payloadOf(framesOf(record))
        const written = await transcribed(bytes)
        if (written === null) return
        plain += 1
        expect(written).toEqual(await decoded(bytes))
      }),
      { numRuns: 1_000 },
    )
    expect(plain).toBeGreaterThan(100)
  })

  it('never differs from decoding where a byte is another', async () => {
    const good = payloadOf(framesOf(anEnd('req_a')))
    await fc.assert(
      fc.asyncProperty(fc.nat(good.length - 1), fc.nat(255), fc.nat(good.length), async (at, byte, length) => {
        const bytes = Buffer.from(good)
        bytes[at] = byte
        const written = await transcribed(bytes)
        if (written !== null) expect(written).toEqual(await decoded(bytes))
        expect(await transcribed(good.subarray(0, Math.min(length, good.length - 1)))).toBeNull()
      }),
      { numRuns: 2_000 },
    )
  })

  it.each([
    ['a begin', payloadOf(framesOf(aBegin('req_a')))],
    ['a day of another century', payloadOf(framesOf(anEnd('req_a', { atMs: 1e15 })))],
    ['no id', payloadOf(framesOf(anEnd('')))],
    ['a text with NUL', payloadOf(framesOf(anEnd('req_a', { model: 'a\0b' })))],
    ['nothing', Buffer.alloc(0)],
  ])('is left to decoding: %s', async (_, bytes) => {
    expect(await transcribed(bytes)).toBeNull()
  })

  it('leaves no trace of a record that it gave up on', async () => {
    const transcriber = new EndTranscriber(NODE)
    const rows = new LogRows(1)
    const [plain, odd] = [anEnd('req_a'), anEnd('req_b', { traceId: 'a\0b' })].map((end) => payloadOf(framesOf(end)))
    if (plain === undefined || odd === undefined) throw new Error('two records')
    expect(transcriber.add(rows.binary, odd, 0, odd.length)).toBeNull()
    const row = transcriber.add(rows.binary, plain, 0, plain.length)
    if (row !== null) rows.addWritten(row)
    expect(await written(rows)).toEqual(await decoded(plain))
  })
})

function payloadOf(frame: Buffer): Buffer {
  return frame.subarray(FRAME_HEADER_BYTES)
}

async function transcribed(bytes: Buffer): Promise<unknown> {
  const rows = new LogRows(1)
  const row = new EndTranscriber(NODE).add(rows.binary, bytes, 0, bytes.length)
  if (row === null) return null
  rows.addWritten(row)
  return written(rows)
}

async function decoded(bytes: Buffer): Promise<unknown> {
  const rows = new LogRows(1)
  const record = decodeRecord(bytes)
  if (record.kind !== 'end') throw new Error('not an end')
  rows.add(rowOfEnd(record, NODE))
  return written(rows)
}

/** What reaches the database. */
async function written(rows: LogRows): Promise<unknown> {
  const said: unknown[] = []
  const queryable: Queryable = {
    query: (_, parameters) => Promise.resolve(void said.push(parameters) as never),
    script: () => Promise.resolve(),
    copyIn: (_, columns, bytes) => Promise.resolve(void said.push(columns, bytes.toString('hex'))),
  }
  await rows.insert(queryable)
  await rows.addToRollups(queryable)
  return said
}
