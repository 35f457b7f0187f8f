import type { FileHandle } from 'node:fs/promises'
import { open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { allocateBody } from '../shared/runtime/body-buffers.ts'
import type { JournalFrame, SegmentHeader } from './frames.ts'
import { findFrame, readFrames, readSegmentHeader } from './frames.ts'

const CHUNK_BYTES = 2 * 1024 * 1024
const HEADER_BYTES = 64 * 1024
const NAME = /^(.+)-(\d{8})\.seg$/

export interface SegmentFile {
  readonly name: string
  readonly path: string
  readonly writer: string
  readonly sequence: number
  readonly sizeBytes: number
  readonly modifiedMs: number
}

/** The name of the writer of a segment; the name itself where it is not that of a segment. */
export function writerOfSegment(name: string): string {
  return NAME.exec(name)?.[1] ?? name
}

/** A frame of a segment, or damaged bytes, with their position. */
export interface JournalEntry {
  readonly segment: string
  readonly writer: string
  readonly start: number
  readonly end: number
  /** Contains the bytes of the entry; its first byte is at `chunkStart` in the segment. */
  readonly chunk: Buffer
  readonly chunkStart: number
  /** The damage of the bytes; null for a whole frame. */
  readonly damage: string | null
}

export function bytesOf({ chunk, chunkStart, start, end }: JournalEntry): Buffer {
  return chunk.subarray(chunkStart, chunkStart + end - start)
}

export interface SegmentRead {
  readonly entries: readonly JournalEntry[]
  /**
   * `more`: continue from the end of the last entry. `end`: nothing is left. `waiting`: the rest is not a whole frame yet, and may
   * become one.
   */
  readonly state: 'more' | 'end' | 'waiting'
  /** Bytes after the last whole frame that are skipped for good; only with `end`. */
  readonly tornBytes: number
}

/** Lists the segments of a journal by writer, in the order in which the writer made them. */
export async function listSegments(directory: string): Promise<Map<string, SegmentFile[]>> {
  const writers = new Map<string, SegmentFile[]>()
  for (const name of await namesIn(directory)) {
    const match = NAME.exec(name)
    if (match?.[1] === undefined) continue
    const path = join(directory, name)
    const status = await statIfPresent(path)
    if (status === null) continue
    const writer = match[1]
    const segments = writers.get(writer) ?? []
    if (segments.length === 0) writers.set(writer, segments)
    const { size: sizeBytes, mtimeMs: modifiedMs } = status
    segments.push({ name, path, writer, sequence: Number(match[2]), sizeBytes, modifiedMs })
  }
  for (const segments of writers.values()) segments.sort((a, b) => a.sequence - b.sequence)
  return writers
}

export async function readHeader(
  segment: SegmentFile,
): Promise<{ header: SegmentHeader; end: number } | 'torn' | 'corrupt'> {
  const file = await open(segment.path)
  try {
    return readSegmentHeader(await readBytes(file, 0, HEADER_BYTES))
  } finally {
    await file.close()
  }
}

/**
 * Reads up to `limit` entries from the byte `from` on. `isFinal` says that the segment gets no more writes; this must be true
 * before the call. A torn end is then skipped for good, and damaged bytes become entries.
 */
export async function readSegment(
  segment: SegmentFile,
  from: number,
  limit: number,
  isFinal: boolean,
): Promise<SegmentRead> {
  const file = await open(segment.path)
  try {
    const { size } = await file.stat()
    if (from >= size) return { entries: [], state: 'end', tornBytes: 0 }
    let chunk = await readBytes(file, from, Math.min(size - from, CHUNK_BYTES))
    let batch = readFrames(chunk, 0, limit)
    if (batch.stop === 'torn' && batch.next === 0 && batch.stopFrameBytes > chunk.length) {
      // The frame is larger than a chunk.
      if (from + batch.stopFrameBytes <= size) {
        chunk = await readBytes(file, from, batch.stopFrameBytes)
        batch = readFrames(chunk, 0, limit)
      }
    }
    if (batch.frames.length > 0) {
      const entries = batch.frames.map((frame) => toEntry(segment, from, chunk, frame))
      return { entries, state: from + batch.next >= size ? 'end' : 'more', tornBytes: 0 }
    }
    if (isFinal) return await giveUp(file, segment, from, batch.stop === 'torn')
    if (
      batch.stop === 'corrupt' &&
      batch.stopFrameBytes > 0 &&
      (await leadsToFrame(file, from + batch.stopFrameBytes))
    ) {
      const bytes = await readBytes(file, from, batch.stopFrameBytes)
      return { entries: [damaged(segment, from, bytes, 'wrong checksum')], state: 'more', tornBytes: 0 }
    }
    return { entries: [], state: 'waiting', tornBytes: 0 }
  } finally {
    await file.close()
  }
}

/** Returns the whole segment as damaged entries. */
export async function readAsDamaged(segment: SegmentFile, reason: string): Promise<SegmentRead> {
  const file = await open(segment.path)
  try {
    const { size } = await file.stat()
    return { entries: await damagedEntries(file, segment, 0, size, reason), state: 'end', tornBytes: 0 }
  } finally {
    await file.close()
  }
}

/**
 * The bytes at `from` will never become a whole frame. Bytes before the next good frame are damaged. When there is no next frame,
 * either the end of the writer cut a record short (`isTorn`), or all the rest is damaged.
 */
async function giveUp(file: FileHandle, segment: SegmentFile, from: number, isTorn: boolean): Promise<SegmentRead> {
  const { size } = await file.stat()
  const found = findFrame(await readBytes(file, from, size - from), 1)
  if (found !== -1) {
    const entries = await damagedEntries(file, segment, from, from + found, 'not a valid frame')
    return { entries, state: 'more', tornBytes: 0 }
  }
  if (isTorn) return { entries: [], state: 'end', tornBytes: size - from }
  return { entries: await damagedEntries(file, segment, from, size, 'not a valid frame'), state: 'end', tornBytes: 0 }
}

/** Returns whether a good frame begins at `offset`: the length of the damaged frame before it is then right. */
async function leadsToFrame(file: FileHandle, offset: number): Promise<boolean> {
  const chunk = await readBytes(file, offset, CHUNK_BYTES)
  const batch = readFrames(chunk, 0, 1)
  if (batch.frames.length > 0) return true
  if (batch.stop !== 'torn' || batch.stopFrameBytes <= chunk.length) return false
  return readFrames(await readBytes(file, offset, batch.stopFrameBytes), 0, 1).frames.length > 0
}

async function damagedEntries(
  file: FileHandle,
  segment: SegmentFile,
  from: number,
  to: number,
  reason: string,
): Promise<JournalEntry[]> {
  const entries: JournalEntry[] = []
  for (let start = from; start < to; start += CHUNK_BYTES) {
    const bytes = await readBytes(file, start, Math.min(CHUNK_BYTES, to - start))
    entries.push(damaged(segment, start, bytes, reason))
  }
  return entries
}

function damaged(segment: SegmentFile, start: number, bytes: Buffer, damage: string): JournalEntry {
  const end = start + bytes.length
  return { segment: segment.name, writer: segment.writer, start, end, chunk: bytes, chunkStart: 0, damage }
}

function toEntry(segment: SegmentFile, from: number, chunk: Buffer, frame: JournalFrame): JournalEntry {
  return {
    segment: segment.name,
    writer: segment.writer,
    start: from + frame.start,
    end: from + frame.end,
    chunk,
    chunkStart: frame.start,
    damage: null,
  }
}

/** Returns fewer bytes at the end of the file. */
async function readBytes(file: FileHandle, offset: number, length: number): Promise<Buffer> {
  const buffer = allocateBody(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, offset + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw cause
  }
}

async function statIfPresent(path: string): Promise<{ size: number; mtimeMs: number } | null> {
  try {
    return await stat(path)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw cause
  }
}
