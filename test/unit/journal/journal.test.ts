import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Journal } from '../../../src/journal/journal.ts'
import { systemClock } from '../../../src/shared/runtime/clock.ts'
import type { BeginRecord } from '../../../src/shared/core/request-record.ts'
import { eventually } from '../../support/eventually.ts'
import { SmallDisk } from '../../support/small-disk.ts'
import { FRAME_HEADER_BYTES, readFrames, readSegmentHeader } from '../../../src/journal/frames.ts'
import { decodeRecord } from '../../../src/journal/record.ts'

let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sluice-journal-'))
})
afterEach(() => {
  rmSync(directory, { recursive: true, force: true })
})

const HEADER = { writer: 'front0-test-1', pid: process.pid, startTicks: null, bootId: null, createdAtMs: 1 }

interface Members {
  segmentMaxBytes?: number
  segmentMaxAgeMs?: number
  durability?: 'os' | 'disk'
  reserveBytes?: number
  onFault?: (cause: Error) => void
  onRecovered?: () => void
}

function open(members: Members = {}): Journal {
  return new Journal({
    directory,
    header: HEADER,
    segmentMaxBytes: members.segmentMaxBytes ?? 1024 * 1024,
    segmentMaxAgeMs: members.segmentMaxAgeMs ?? 600_000,
    durability: members.durability ?? 'os',
    reserve: { path: join(directory, 'front-0.reserve'), bytes: members.reserveBytes ?? 0 },
    clock: systemClock,
    onRecovered: members.onRecovered ?? (() => undefined),
    onSync: () => undefined,
    onFault:
      members.onFault ??
      ((cause) => {
        throw cause
      }),
  })
}

function begin(id: string): BeginRecord {
  return {
    kind: 'begin',
    id,
    atMs: 1,
    endpoint: 'chat.completions',
    dialect: 'openai-chat',
    keyId: null,
    keyMasked: null,
    userId: null,
    enterpriseId: null,
    departmentId: null,
    memberId: null,
    model: 'm',
    stream: false,
    userAgent: 'test',
    clientAddress: '127.0.0.1',
    clientRequestId: null,
    traceId: null,
    tags: null,
  }
}

function append(journal: Journal, id: string): Promise<void> {
  return new Promise((resolve, reject) => {
    journal.append(begin(id), (failure) => {
      if (failure === null) resolve()
      else reject(failure)
    })
  })
}

function idsOnDisk(): string[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith('.seg'))
    .sort()
    .flatMap((name) => {
      const bytes = readFileSync(join(directory, name))
      const header = readSegmentHeader(bytes)
      if (typeof header === 'string') throw new Error(`the header of ${name} is ${header}`)
      const { frames } = readFrames(bytes, header.end)
      return frames.map(({ start, end }) => decodeRecord(bytes, start + FRAME_HEADER_BYTES, end).id)
    })
}

describe('Journal', () => {
  it.each(['os', 'disk'] as const)('has a record on disk before it says so (%s)', async (durability) => {
    const journal = open({ durability })
    for (const id of ['a', 'b', 'c']) {
      await append(journal, id)
      expect(idsOnDisk()).toContain(id)
    }
    journal.close()
  })

  it('keeps the order of what is appended in one turn and in many', async () => {
    const journal = open()
    const ids = Array.from({ length: 500 }, (_, index) => `r${index}`)
    await Promise.all(ids.slice(0, 250).map((id) => append(journal, id)))
    await Promise.all(ids.slice(250).map((id) => append(journal, id)))
    expect(idsOnDisk()).toEqual(ids)
    journal.close()
  })

  it('goes on in a new segment when one is full, and loses nothing between them', async () => {
    const journal = open({ segmentMaxBytes: 2_000, durability: 'disk' })
    const ids = Array.from({ length: 100 }, (_, index) => `r${index}`)
    for (const id of ids) await append(journal, id)
    journal.close()
    expect(readdirSync(directory).length).toBeGreaterThan(3)
    expect(idsOnDisk()).toEqual(ids)
  })

  it('has what waited for a sync on disk when a segment fills up meanwhile', async () => {
    const journal = open({ segmentMaxBytes: 1_000, durability: 'disk' })
    const ids = Array.from({ length: 300 }, (_, index) => `r${index}`)
    const done: string[] = []
    for (let at = 0; at < ids.length; at += 10) {
      const turn = ids.slice(at, at + 10).map((id) => append(journal, id).then(() => done.push(id)))
      // The next turn of the loop begins while the sync of this one is under way.
      await Promise.race(turn)
    }
    await eventually(() => {
      expect(done.length).toBe(ids.length)
    })
    journal.close()
    expect(idsOnDisk()).toEqual(ids)
  })

  it('goes on in the full segment when a new one cannot be made', async () => {
    const faults: Error[] = []
    const journal = open({ segmentMaxBytes: 200, onFault: (cause) => faults.push(cause) })
    writeFileSync(join(directory, `${HEADER.writer}-00000002.seg`), '')
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) await append(journal, id)
    journal.close()
    rmSync(join(directory, `${HEADER.writer}-00000002.seg`))
    expect(faults.length).toBeGreaterThan(0)
    expect(idsOnDisk()).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
  })

  it('writes what is left when it is closed', () => {
    const journal = open()
    journal.append(begin('last'), () => undefined)
    journal.close()
    expect(idsOnDisk()).toEqual(['last'])
    expect(journal.writable).toBe(false)
  })
  it('begins a new segment when one with records is old, and leaves one without alone', async () => {
    const journal = open({ segmentMaxAgeMs: 20 })
    await append(journal, 'a')
    await eventually(() => expect(segments()).toHaveLength(2))
    await append(journal, 'b')
    await eventually(() => expect(segments()).toHaveLength(3))
    journal.close()
    expect(segments()).toHaveLength(3)
    expect(idsOnDisk()).toEqual(['a', 'b'])
  })
})

describe('Journal on a disk that is full', () => {
  let disk: SmallDisk

  beforeEach(() => {
    disk = new SmallDisk(directory)
  })
  afterEach(() => {
    disk.restore()
  })

  it('records what is under way in the space it has kept, refuses the rest, and keeps it again when there is room', async () => {
    const events: string[] = []
    disk.capacityBytes = 64 * 1024
    const onFault = (cause: Error): void => void events.push((cause as NodeJS.ErrnoException).code ?? '')
    const journal = open({ reserveBytes: 16 * 1024, onFault, onRecovered: () => void events.push('recovered') })
    const ids: string[] = []
    while (journal.writable) {
      ids.push(`r${ids.length}`)
      await append(journal, ids.at(-1) ?? '')
    }
    expect(events).toEqual(['ENOSPC'])
    for (let i = 0; i < 40; i++) {
      ids.push(`late${i}`)
      await append(journal, ids.at(-1) ?? '')
    }
    expect(journal.writable).toBe(false)

    disk.capacityBytes = 1024 * 1024
    await eventually(() => expect(journal.writable).toBe(true))
    expect(events).toEqual(['ENOSPC', 'recovered'])
    await append(journal, 'after')
    journal.close()
    expect(idsOnDisk()).toEqual([...ids, 'after'])
    expect(readdirSync(directory).filter((name) => name.endsWith('.reserve'))).toEqual([])
  })

  it('holds what fits nowhere, and writes it once, in order, when there is room', async () => {
    disk.capacityBytes = 2_000
    const journal = open({ onFault: () => undefined })
    const done: string[] = []
    const ids = Array.from({ length: 60 }, (_, index) => `r${index}`)
    const all = ids.map((id) => append(journal, id).then(() => done.push(id)))
    await eventually(() => expect(journal.writable).toBe(false))
    expect(done).toEqual([])
    expect(journal.heldBytes).toBeGreaterThan(2_000)
    disk.capacityBytes = Infinity
    await Promise.all(all)
    expect(done).toEqual(ids)
    expect(journal.writable).toBe(true)
    journal.close()
    expect(idsOnDisk()).toEqual(ids)
  })

  it('writes again into the same segment when part of a failed write cannot be cut off, however old the segment is', async () => {
    disk.capacityBytes = 2_000
    disk.failingCuts = 3
    const journal = open({ segmentMaxAgeMs: 50, onFault: () => undefined })
    await append(journal, 'before')
    const ids = Array.from({ length: 60 }, (_, index) => `r${index}`)
    const all = ids.map((id) => append(journal, id))
    await eventually(() => expect(disk.failingCuts).toBeLessThan(3))
    // From now on a new segment can be made.
    disk.capacityBytes = Infinity
    await Promise.all(all)
    journal.close()
    expect(idsOnDisk()).toEqual(['before', ...ids])
    expect(disk.failingCuts).toBe(0)
  })

  it('is not writable from the start without room for its reserve', () => {
    disk.capacityBytes = 10_000
    const journal = open({ reserveBytes: 16 * 1024, onFault: () => undefined })
    expect(journal.writable).toBe(false)
    journal.close()
  })

  it('says that records are not safe after a failed sync, and goes on in a new segment', async () => {
    const events: string[] = []
    const journal = open({
      durability: 'disk',
      onFault: (cause) => void events.push((cause as NodeJS.ErrnoException).code ?? ''),
      onRecovered: () => void events.push('recovered'),
    })
    await append(journal, 'a')
    disk.failingSyncs = 1
    await expect(append(journal, 'b')).rejects.toThrow('EIO')
    expect(journal.writable).toBe(false)
    await expect(append(journal, 'c')).rejects.toThrow('cannot be synced')
    await eventually(() => expect(journal.writable).toBe(true))
    await append(journal, 'd')
    journal.close()
    expect(events).toEqual(['EIO', 'recovered'])
    expect(segments()).toHaveLength(2)
    expect(idsOnDisk()).toEqual(['a', 'b', 'c', 'd'])
  })

  it('has what waits for a sync on disk before it is closed', async () => {
    const journal = open({ durability: 'disk' })
    const first = append(journal, 'a')
    await new Promise((resolve) => setImmediate(resolve))
    const second = append(journal, 'b')
    journal.close()
    await Promise.all([first, second])
    expect(idsOnDisk()).toEqual(['a', 'b'])
  })
})

function segments(): string[] {
  return readdirSync(directory).filter((name) => name.endsWith('.seg'))
}
