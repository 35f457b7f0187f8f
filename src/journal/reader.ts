import type { Clock } from '../shared/runtime/clock.ts'
import type { SegmentHeader } from './frames.ts'
import type { JournalEntry, SegmentFile, SegmentRead } from './segment-reader.ts'
import { listSegments, readAsDamaged, readHeader, readSegment } from './segment-reader.ts'

/** The position up to which a segment is settled, as this process knows it. */
export interface KnownOffset {
  readonly position: number
  readonly createdAtMs: number
  /** The database has this offset, at this position. */
  readonly isStored: boolean
  /** The header of the file was read, and the offset belongs to this file. */
  readonly isVerified: boolean
}

export type KnownOffsets = Map<string, KnownOffset>

export interface JournalBatch {
  /** In journal order for each writer. */
  readonly entries: readonly JournalEntry[]
  /** Segments to delete once the entries are committed: they have no more entries. */
  readonly finished: readonly SegmentFile[]
  /** Writers that are dead and read to their end. */
  readonly ended: readonly string[]
  /** More entries are, or may be, ready to read now. */
  readonly hasMore: boolean
  /** Bytes in all segments when they were listed, these entries included. */
  readonly unsettledBytes: number
}

export interface JournalReaderOptions {
  readonly directory: string
  readonly clock: Clock
  readonly isWriterAlive: (header: SegmentHeader) => boolean
  /** Called for the torn end of a segment. No request was told that these bytes are durable. */
  readonly onTorn: (segment: SegmentFile, bytes: number) => void
  /** Called for a segment whose offset belongs to an earlier file of the same name. */
  readonly dropOffset: (segment: string) => Promise<void>
}

/** A segment that has no header after this long was left by a writer that ended between creating and writing the file. */
const HEADERLESS_MS = 600_000

/** Reads the segments of all writers in batches, each segment from its settled position. */
export class JournalReader {
  readonly #options: JournalReaderOptions
  /** The latest header read of each writer. */
  readonly #headers = new Map<string, SegmentHeader>()
  #rotation = 0

  constructor(options: JournalReaderOptions) {
    this.#options = options
  }

  async writers(): Promise<Map<string, SegmentFile[]>> {
    return listSegments(this.#options.directory)
  }

  /** Unsettled bytes in all segments, as the files are now. */
  async unsettledBytes(offsets: KnownOffsets): Promise<number> {
    return unsettledBytes(await this.writers(), offsets)
  }

  /** Adds the offsets of new segments to `offsets`, and moves no offset: the commit does that. */
  async read(offsets: KnownOffsets, limit: number): Promise<JournalBatch> {
    // The order matters: a writer that is dead before the directory is listed adds no segment and no byte after the listing.
    // A writer first seen in this listing counts as alive until the next read.
    const dead = this.#deadWriters()
    const writers = await this.writers()
    this.#forgetOthers(writers)

    const entries: JournalEntry[] = []
    const finished: SegmentFile[] = []
    const ended: string[] = []
    let hasMore = false
    const names = rotated([...writers.keys()].sort(), this.#rotation++)
    for (const [index, name] of names.entries()) {
      const share = Math.ceil((limit - entries.length) / (names.length - index))
      const wasKnown = this.#headers.has(name)
      const reading = await this.#readWriter(writers.get(name) ?? [], dead.has(name), share, offsets)
      entries.push(...reading.entries)
      finished.push(...reading.finished)
      if (reading.state === 'more' || (!wasKnown && this.#headers.has(name))) hasMore = true
      if (reading.state === 'end' && dead.has(name)) ended.push(name)
    }
    return { entries, finished, ended, hasMore, unsettledBytes: unsettledBytes(writers, offsets) }
  }

  #deadWriters(): Set<string> {
    const dead = new Set<string>()
    for (const [writer, header] of this.#headers) {
      if (!this.#options.isWriterAlive(header)) dead.add(writer)
    }
    return dead
  }

  #forgetOthers(writers: ReadonlyMap<string, unknown>): void {
    for (const writer of this.#headers.keys()) {
      if (!writers.has(writer)) this.#headers.delete(writer)
    }
  }

  /** Reads segment after segment, each one to its end: an end record must not come before its begin record. */
  async #readWriter(
    segments: readonly SegmentFile[],
    isDead: boolean,
    share: number,
    offsets: KnownOffsets,
  ): Promise<{ entries: JournalEntry[]; finished: SegmentFile[]; state: SegmentRead['state'] }> {
    const entries: JournalEntry[] = []
    const finished: SegmentFile[] = []
    for (const [index, segment] of segments.entries()) {
      const left = share - entries.length
      if (left <= 0) return { entries, finished, state: 'more' }
      const isFinal = isDead || index < segments.length - 1
      const position = await this.#findPosition(segment, offsets)
      const isGivenUp = typeof position === 'string' && this.#isGivenUp(segment, isFinal)
      if (typeof position === 'string' && !isGivenUp) return { entries, finished, state: 'waiting' }
      const read = await readFrom(segment, position, left, isFinal)
      entries.push(...read.entries)
      if (read.tornBytes > 0) this.#options.onTorn(segment, read.tornBytes)
      if (read.state !== 'end') return { entries, finished, state: read.state }
      if (isFinal || isGivenUp) finished.push(segment)
    }
    return { entries, finished, state: 'end' }
  }

  /** Finds where reading continues. `torn`: the header is not whole yet. `corrupt`: the file does not begin with a header. */
  async #findPosition(segment: SegmentFile, offsets: KnownOffsets): Promise<number | 'torn' | 'corrupt'> {
    const known = offsets.get(segment.name)
    if (known?.isVerified === true) return known.position
    const read = await readHeader(segment)
    if (read === 'torn') return read
    // A file without a header has an offset when all of it was settled as damaged.
    if (read === 'corrupt') return known?.position ?? read
    this.#headers.set(segment.writer, read.header)
    const { createdAtMs } = read.header
    if (known?.createdAtMs === createdAtMs) {
      offsets.set(segment.name, { ...known, isVerified: true })
      return known.position
    }
    if (known !== undefined) await this.#options.dropOffset(segment.name)
    offsets.set(segment.name, { position: read.end, createdAtMs, isStored: false, isVerified: true })
    return read.end
  }

  #isGivenUp(segment: SegmentFile, isFinal: boolean): boolean {
    return isFinal || this.#options.clock.now() - segment.modifiedMs > HEADERLESS_MS
  }
}

async function readFrom(
  segment: SegmentFile,
  position: number | 'torn' | 'corrupt',
  limit: number,
  isFinal: boolean,
): Promise<SegmentRead> {
  if (position === 'corrupt') return readAsDamaged(segment, 'no segment header')
  if (position === 'torn') return { entries: [], state: 'end', tornBytes: segment.sizeBytes }
  // Most reads find nothing new, and do not open the file.
  if (position === segment.sizeBytes) return { entries: [], state: 'end', tornBytes: 0 }
  return readSegment(segment, position, limit, isFinal)
}

function unsettledBytes(
  writers: ReadonlyMap<string, readonly SegmentFile[]>,
  offsets: ReadonlyMap<string, KnownOffset>,
): number {
  let bytes = 0
  for (const { name, sizeBytes } of [...writers.values()].flat()) {
    bytes += Math.max(0, sizeBytes - (offsets.get(name)?.position ?? 0))
  }
  return bytes
}

/** Puts another writer first at each read, so that no writer is always last when a batch cannot take everything. */
function rotated<T>(items: readonly T[], by: number): T[] {
  const start = items.length === 0 ? 0 : by % items.length
  return [...items.slice(start), ...items.slice(0, start)]
}
