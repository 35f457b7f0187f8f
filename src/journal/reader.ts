import type { Clock } from '../shared/runtime/clock.ts'
import type { SegmentHeader } from './frames.ts'
import type { JournalEntry, SegmentFile, SegmentRead } from './segment-reader.ts'
import { listSegments, readAsDamaged, readHeader, readSegment } from './segment-reader.ts'

/** How far a segment is settled, as far as this process knows. */
export interface KnownOffset {
  readonly position: number
  readonly createdAtMs: number
  /** The database has it, at this position. */
  readonly isStored: boolean
  /** The header of the file was read and is the one the offset belongs to. */
  readonly isVerified: boolean
}

export type KnownOffsets = Map<string, KnownOffset>

export interface JournalBatch {
  /** Of each writer in the order of its journal. */
  readonly entries: readonly JournalEntry[]
  /** To be deleted once the entries are committed: nothing more will come from them. */
  readonly finished: readonly SegmentFile[]
  /** Writers that are dead and read to their end. */
  readonly ended: readonly string[]
  /** There is, or may be, more to read right now. */
  readonly hasMore: boolean
  /** In all segments together, these entries included, at the time of the listing. */
  readonly unsettledBytes: number
}

export interface JournalReaderOptions {
  readonly directory: string
  readonly clock: Clock
  readonly isWriterAlive: (header: SegmentHeader) => boolean
  /** Hears of the torn end of a segment, which nobody was promised. */
  readonly onTorn: (segment: SegmentFile, bytes: number) => void
  /** A segment has an offset that belongs to an earlier file of its name. */
  readonly dropOffset: (segment: string) => Promise<void>
}

/** A segment without a header for this long was left by a writer that ended between creating and writing it. */
const HEADERLESS_MS = 600_000

/** Reads the segments of all writers, a batch at a time, each from where it is settled. */
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

  /** In all segments together, as the files are now. */
  async unsettledBytes(offsets: KnownOffsets): Promise<number> {
    return unsettledBytes(await this.writers(), offsets)
  }

  /** Offsets of segments met for the first time are added to `offsets`; what was read is not: that is for the commit. */
  async read(offsets: KnownOffsets, limit: number): Promise<JournalBatch> {
    // The order matters: a writer found dead before the directory is listed has no segment that the listing lacks, and no
    // byte that reading lacks. A writer first seen in this listing counts as alive until the next time.
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

  /** Segment after segment, and none before the one before it is read to its end: an end must not overtake its begin. */
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

  /** Where reading goes on; `torn` while the header is not whole, `corrupt` when there is something else in its place. */
  async #findPosition(segment: SegmentFile, offsets: KnownOffsets): Promise<number | 'torn' | 'corrupt'> {
    const known = offsets.get(segment.name)
    if (known?.isVerified === true) return known.position
    const read = await readHeader(segment)
    if (read === 'torn') return read
    // An offset in a file without a header: it was settled as damaged, whole.
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

/** Each time another writer comes first, so that none is always last when there is more than a batch can take. */
function rotated<T>(items: readonly T[], by: number): T[] {
  const start = items.length === 0 ? 0 : by % items.length
  return [...items.slice(start), ...items.slice(0, start)]
}
