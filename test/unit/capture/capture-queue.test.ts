import { expect, it, onTestFinished } from 'vitest'
import { BodyCopies } from '../../../src/front/capture/body-copies.ts'
import { CaptureQueue } from '../../../src/front/capture/capture-queue.ts'
import type { DropReason } from '../../../src/front/capture/capture-queue.ts'
import type { CaptureBatch } from '../../../src/shared/core/capture.ts'
import { isSampled } from '../../../src/shared/core/capture.ts'
import { newRequestId } from '../../../src/shared/core/request-id.ts'
import { systemClock } from '../../../src/shared/runtime/clock.ts'
import { DeadlineClock } from '../../../src/shared/runtime/deadlines.ts'
import { eventually } from '../../support/eventually.ts'

class Line {
  isUp = true
  readonly sent: CaptureBatch[] = []
  readonly dropped: DropReason[] = []
  taken = 0
  readonly queue: CaptureQueue
  #nowMs = 0
  readonly #deadlines: DeadlineClock

  constructor(maxBytes = 1_000_000) {
    this.#deadlines = new DeadlineClock({ now: () => this.#nowMs, monotonicUs: () => this.#nowMs * 1_000 })
    this.queue = new CaptureQueue({
      maxBytes,
      deadlines: this.#deadlines,
      send: (batch) => {
        if (this.isUp) this.sent.push(batch)
        return this.isUp
      },
      onTaken: (captures) => {
        this.taken += captures
      },
      onDropped: (reason) => {
        this.dropped.push(reason)
      },
    })
  }

  copies(requestId: string, maxBytes = 1_000): BodyCopies {
    const subject = { requestId, atMs: 0, keyId: 'key_1', userId: null, enterpriseId: 'ent_1' }
    return new BodyCopies(subject, { requests: true, answers: true, sample: 1 }, this.queue, maxBytes)
  }

  capture(requestId: string, size = 10): void {
    const copies = this.copies(requestId, size)
    copies.request(Buffer.alloc(size, 'q'))
    copies.answer(Buffer.alloc(size, 'a'))
    copies.over(true)
  }

  reply(isStored: boolean): void {
    this.queue.receive({ type: 'captures-reply', id: this.sent.at(-1)?.id ?? 0, isStored })
  }

  /** Lets time pass. */
  pass(ms: number): void {
    this.#nowMs += ms
    this.#deadlines.tick()
  }

  get ids(): string[][] {
    return this.sent.map(({ captures }) => captures.map(({ requestId }) => requestId))
  }
}

it('sends captures in batches, one after the other, and forgets them once they are stored', () => {
  const line = new Line()
  for (let index = 0; index < 70; index++) line.capture(`r${index}`)
  expect(line.sent).toHaveLength(0)
  line.pass(50)
  expect(line.ids.map(({ length }) => length)).toEqual([64])
  line.pass(1_000)
  expect(line.sent).toHaveLength(1)
  line.reply(true)
  expect(line.ids.map(({ length }) => length)).toEqual([64, 6])
  line.reply(true)
  expect([line.taken, line.queue.bytes, line.dropped]).toEqual([70, 0, []])
})

it('sends when nothing else is due', async () => {
  const deadlines = new DeadlineClock(systemClock, 1)
  deadlines.start()
  onTestFinished(() => {
    deadlines.stop()
  })
  const sent: CaptureBatch[] = []
  const queue = new CaptureQueue({
    maxBytes: 1_000_000,
    deadlines,
    send: (batch) => sent.push(batch) > 0,
    onTaken: () => undefined,
    onDropped: () => undefined,
  })
  const subject = { requestId: 'r1', atMs: 0, keyId: 'key_1', userId: null, enterpriseId: 'ent_1' }
  for (const count of [1, 2]) {
    const copies = new BodyCopies(subject, { requests: true, answers: true, sample: 1 }, queue, 10)
    copies.request(Buffer.from('q'))
    copies.over(true)
    await eventually(() => {
      expect(sent).toHaveLength(count)
    })
    queue.receive({ type: 'captures-reply', id: count, isStored: true })
  }
})

it('sends a batch again that the database could not take, and to the next control process', () => {
  const line = new Line()
  line.capture('r1')
  line.pass(50)
  line.reply(false)
  line.capture('r2')
  line.pass(999)
  expect(line.sent).toHaveLength(1)
  line.pass(1)
  expect(line.ids[1]).toEqual(['r1', 'r2'])
  line.isUp = false
  line.queue.lost()
  line.capture('r3')
  line.pass(60_000)
  expect(line.sent).toHaveLength(2)
  line.isUp = true
  line.queue.linked()
  expect(line.ids[2]).toEqual(['r1', 'r2', 'r3'])
  // A late reply to an earlier batch means nothing.
  line.queue.receive({ type: 'captures-reply', id: 1, isStored: true })
  expect(line.taken).toBe(0)
  line.reply(true)
  expect([line.taken, line.queue.bytes]).toEqual([3, 0])
})

it('drops what does not fit, counted, and takes more when there is room again', () => {
  const line = new Line(10_000)
  for (let index = 0; index < 20; index++) line.capture(`r${index}`, 1_000)
  const kept = 20 - line.dropped.length
  expect(line.dropped).toEqual(Array<string>(20 - kept).fill('full'))
  expect(kept).toBe(3)
  expect(line.queue.bytes).toBeLessThanOrEqual(10_000)
  line.pass(50)
  line.reply(true)
  expect(line.queue.bytes).toBe(0)
  line.capture('more', 1_000)
  line.pass(50)
  expect(line.ids.at(-1)).toEqual(['more'])
})

it('drops a request under way whose copies fill the room, and releases what it held', () => {
  const line = new Line(5_000)
  const copies = line.copies('r1', 10_000)
  copies.request(Buffer.alloc(3_000))
  for (let index = 0; index < 5; index++) copies.answer(Buffer.alloc(1_000))
  copies.over(true)
  expect([line.dropped, line.queue.bytes]).toEqual([['full'], 0])
})

it('drops a batch that nobody answers, after a minute', () => {
  const line = new Line()
  line.capture('r1')
  line.pass(50)
  line.pass(60_000)
  expect([line.dropped, line.queue.bytes]).toEqual([['unanswered'], 0])
  line.capture('r2')
  line.pass(50)
  expect(line.ids).toEqual([['r1'], ['r2']])
})

it('keeps the beginning of each body, and its whole size', () => {
  const line = new Line()
  const copies = line.copies('r1', 8)
  copies.request(Buffer.from('0123456789'))
  for (const chunk of ['abc', 'defgh', 'ij']) copies.answer(Buffer.from(chunk))
  copies.over(false)
  copies.over(true)
  line.pass(50)
  const [capture] = line.sent[0]?.captures ?? []
  expect(capture?.request).toMatchObject({ size: 10, isComplete: true })
  expect(capture?.answer).toMatchObject({ size: 10, isComplete: false })
  expect([capture?.request, capture?.answer].map((body) => Buffer.from(body?.bytes ?? []).toString())).toEqual([
    '01234567',
    'abcdefgh',
  ])
})

it('is drained when all are stored, or when the time is over', async () => {
  const line = new Line()
  await line.queue.drained(1_000)
  line.capture('r1')
  const drained = line.queue.drained(1_000)
  line.reply(true)
  await drained
  line.capture('r2')
  const late = line.queue.drained(1_000)
  line.pass(1_000)
  await late
})

it('takes about the share of a sample, by the id alone', () => {
  const ids = Array.from({ length: 4_000 }, () => newRequestId(1_700_000_000_000))
  for (const sample of [0, 0.1, 0.5, 0.9, 1]) {
    const share = ids.filter((id) => isSampled(id, sample)).length / ids.length
    expect(Math.abs(share - sample)).toBeLessThan(0.05)
  }
})
