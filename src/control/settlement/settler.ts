import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Tenants } from '../../shared/core/budget.ts'
import { NO_TENANTS } from '../../shared/core/budget.ts'
import type { Clock } from '../../shared/runtime/clock.ts'
import { closeBudgetWriter, listBudgetWriters } from '../store/budget-use.ts'
import type { Database } from '../store/database.ts'
import { listOffsets, listOpenRequests, listOpenWriters, removeOffsets } from '../store/journal.ts'
import { LogPartitions } from '../store/partitions.ts'
import type { SegmentHeader } from '../../journal/frames.ts'
import { writerName } from './charges.ts'
import type { KnownOffsets } from '../../journal/reader.ts'
import { JournalReader } from '../../journal/reader.ts'
import type { PriceOf } from './rows.ts'
import type { JournalEntry, SegmentFile } from '../../journal/segment-reader.ts'
import type { SettleTarget } from './settle-batch.ts'
import { settleEntries, settleInterrupted } from './settle-batch.ts'

/** The methods of a pino logger that the settler uses. */
export interface SettlerLogger {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export interface SettlerOptions {
  readonly database: Database
  readonly journalDirectory: string
  readonly node: string
  readonly clock: Clock
  /** Whether the process that wrote a segment may still write. Once false it must stay false. */
  readonly isWriterAlive: (header: SegmentHeader) => boolean
  readonly logger: SettlerLogger
  readonly priceOf: PriceOf
  /** Returns the current tenants: who pays for what. None by default. */
  readonly tenants?: () => Tenants
  /** Called once all records of a dead writer are committed, with the budgets that it used. */
  readonly onWriterEnded?: (writer: string, budgets: readonly string[]) => void
  /** Called after each commit with the numbers of its rows and dead letters. */
  readonly onCommitted?: (rows: number, deadLetters: number) => void
  /** Records per transaction; 8 000 by default, which is what a chunk of a segment holds. */
  readonly batchRows?: number
  /**
   * Milliseconds between reads of the journal; 400 by default, and twice as many while reads find little. A transaction costs the
   * embedded database some 6 ms however small it is, so more frequent reads cost more than they gain.
   */
  readonly pollMs?: number
  /** First and longest wait after a failure; 100 and 5 000 by default. */
  readonly backoffMs?: readonly [first: number, longest: number]
}

export interface SettlerLag {
  /** Bytes in the journal that are not committed, at the last round or the last `measure`. */
  readonly bytes: number
  /** Estimated from the mean size of the records so far. */
  readonly records: number
  /** Time since the journal was last found empty; 0 while it is empty. */
  readonly ageMs: number
}

export interface Settler {
  /** Settles in the background until `stop`. */
  start(): void
  /**
   * Resolves when the journal is empty: all whole records from before the call are then committed. Retries failures until then.
   */
  drain(): Promise<void>
  /** Resolves when the records from before the call are committed, however many are written meanwhile. */
  catchUp(): Promise<void>
  /** Rolls back the transaction under way, unless all its statements have run. Pending `drain` calls reject. */
  stop(): Promise<void>
  lag(): SettlerLag
  /** Whether segments of the writer are left. Once false it stays false. */
  hasSegments(writer: string): Promise<boolean>
  /** Measures the lag of the journal as it is now, also while the database does not answer and settlement waits for it. */
  measure(): Promise<SettlerLag>
}

interface Round {
  /** Entries were committed, or files deleted. */
  readonly progressed: boolean
  /** More work is, or may be, ready now. */
  readonly again: boolean
  readonly records: number
}

const MEAN_RECORD_BYTES = 250
/** Fewer records than this per read are little. */
const LITTLE = 100

export function createSettler(options: SettlerOptions): Settler {
  return new JournalSettler(options)
}

class JournalSettler implements Settler {
  readonly #options: SettlerOptions
  readonly #target: SettleTarget
  readonly #reader: JournalReader
  readonly #batchRows: number
  readonly #stopping = new AbortController()
  /** Offsets by segment; null when they must be read from the database. */
  #offsets: KnownOffsets | null = null
  /** The offsets of the last round, kept for `measure` while the database does not answer. */
  #lastOffsets: KnownOffsets = new Map()
  #rounds: Promise<unknown> = Promise.resolve()
  #loop: Promise<void> | null = null
  #lagBytes = 0
  #emptyAtMs: number
  #settledBytes = 0
  #settledRecords = 0

  constructor(options: SettlerOptions) {
    this.#options = options
    const { database, node, clock, isWriterAlive, logger, priceOf } = options
    const { tenants = () => NO_TENANTS, onCommitted = () => undefined } = options
    this.#target = {
      database,
      node,
      partitions: new LogPartitions(database),
      priceOf,
      tenants,
      onCommitted,
      signal: this.#stopping.signal,
    }
    this.#reader = new JournalReader({
      directory: options.journalDirectory,
      clock,
      isWriterAlive,
      onTorn: ({ name }, bytes) => logger.warn({ segment: name, bytes }, 'torn end of a journal segment skipped'),
      dropOffset: (segment) => removeOffsets(database, node, [segment]),
    })
    this.#batchRows = options.batchRows ?? 8_000
    this.#emptyAtMs = clock.now()
  }

  start(): void {
    this.#loop ??= this.#run()
  }

  async drain(): Promise<void> {
    const signal = this.#stopping.signal
    for (;;) {
      signal.throwIfAborted()
      const round = await this.#attempt(() => this.#round())
      if (!round.again && !round.progressed) return
    }
  }

  async catchUp(): Promise<void> {
    const goal = await this.#attempt(() => this.#segments())
    for (;;) {
      const round = await this.#attempt(() => this.#round())
      if (!round.again && !round.progressed) return
      const present = await this.#attempt(() => this.#segments())
      const isBehind = [...goal].some(
        ([name, bytes]) => present.has(name) && (this.#offsets?.get(name)?.position ?? 0) < bytes,
      )
      if (!isBehind) return
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the settler was stopped'))
    await this.#loop
    await this.#rounds
  }

  lag(): SettlerLag {
    const bytes = this.#lagBytes
    const recordBytes = this.#settledRecords === 0 ? MEAN_RECORD_BYTES : this.#settledBytes / this.#settledRecords
    const ageMs = bytes === 0 ? 0 : Math.max(0, this.#options.clock.now() - this.#emptyAtMs)
    return { bytes, records: Math.ceil(bytes / recordBytes), ageMs }
  }

  async hasSegments(writer: string): Promise<boolean> {
    return (await this.#reader.writers()).has(writer)
  }

  async measure(): Promise<SettlerLag> {
    this.#lagBytes = await this.#reader.unsettledBytes(this.#lastOffsets)
    return this.lag()
  }

  /** The size of each segment in bytes. */
  async #segments(): Promise<ReadonlyMap<string, number>> {
    const writers = await this.#reader.writers()
    return new Map([...writers.values()].flat().map(({ name, sizeBytes }) => [name, sizeBytes]))
  }

  async #run(): Promise<void> {
    const pollMs = this.#options.pollMs ?? 400
    const { signal } = this.#stopping
    while (!signal.aborted) {
      const round = await this.#attempt(() => this.#round()).catch(() => null)
      if (round === null || signal.aborted) return
      if (round.again) continue
      await this.#sleep(round.records < LITTLE ? 2 * pollMs : pollMs)
    }
  }

  /** Retries the work until it succeeds. Rejects only when the settler is stopped. */
  async #attempt<T>(work: () => Promise<T>): Promise<T> {
    const [firstMs, longestMs] = this.#options.backoffMs ?? [100, 5_000]
    let delayMs = firstMs
    for (;;) {
      this.#stopping.signal.throwIfAborted()
      try {
        return await this.#exclusively(work)
      } catch (cause) {
        this.#stopping.signal.throwIfAborted()
        // The transaction may be committed and only the answer lost: read the offsets from the database again.
        this.#offsets = null
        this.#options.logger.error({ err: cause, retryInMs: delayMs }, 'the journal cannot be settled; trying again')
        await this.#sleep(delayMs)
        delayMs = Math.min(delayMs * 2, longestMs)
      }
    }
  }

  #exclusively<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#rounds.then(work)
    this.#rounds = result.catch(() => undefined)
    return result
  }

  async #sleep(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stopping.signal }).catch(() => undefined)
  }

  async #round(): Promise<Round> {
    const offsets = (this.#offsets ??= await this.#loadOffsets())
    this.#lastOffsets = offsets
    const batch = await this.#reader.read(offsets, this.#batchRows)
    this.#lagBytes = batch.unsettledBytes
    await settleEntries(this.#target, batch.entries, offsets)
    this.#noteSettled(batch.entries)
    for (const writer of batch.ended) await this.#close(writer)
    await this.#deleteSegments(batch.finished, offsets)
    const records = batch.entries.length
    return { progressed: records > 0 || batch.finished.length > 0, again: batch.hasMore, records }
  }

  async #loadOffsets(): Promise<KnownOffsets> {
    const { database, node } = this.#target
    const writers = await this.#reader.writers()
    const present = new Set([...writers.values()].flat().map(({ name }) => name))
    const offsets: KnownOffsets = new Map()
    const left: string[] = []
    for (const { segment, position, createdAtMs } of await listOffsets(database, node)) {
      if (present.has(segment)) offsets.set(segment, { position, createdAtMs, isStored: true, isVerified: false })
      else left.push(segment)
    }
    // A file is deleted before its offset: these offsets are left from a stop in between.
    await removeOffsets(database, node, left)
    for (const writer of await listOpenWriters(database, node)) {
      if (!writers.has(writer)) await this.#interruptOpen(writer)
    }
    for (const name of await listBudgetWriters(database, node)) {
      const writer = name.slice(node.length + 1)
      if (!writers.has(writer)) await this.#closeBudgets(writer)
    }
    return offsets
  }

  async #close(writer: string): Promise<void> {
    await this.#interruptOpen(writer)
    await this.#closeBudgets(writer)
  }

  async #closeBudgets(writer: string): Promise<void> {
    const { database, node } = this.#target
    const budgets = await closeBudgetWriter(database, writerName(node, writer))
    this.#options.onWriterEnded?.(writer, budgets)
  }

  async #interruptOpen(writer: string): Promise<void> {
    const { database, node } = this.#target
    for (;;) {
      const open = await listOpenRequests(database, node, writer, this.#batchRows)
      if (open.length === 0) return
      await settleInterrupted(this.#target, open)
      this.#options.logger.warn({ writer, requests: open.length }, 'requests interrupted by the end of their process')
    }
  }

  async #deleteSegments(segments: readonly SegmentFile[], offsets: KnownOffsets): Promise<void> {
    if (segments.length === 0) return
    for (const { path } of segments) await rm(path, { force: true })
    const names = segments.map(({ name }) => name)
    await removeOffsets(this.#target.database, this.#target.node, names)
    for (const name of names) offsets.delete(name)
  }

  #noteSettled(entries: readonly JournalEntry[]): void {
    let bytes = 0
    for (const { start, end } of entries) bytes += end - start
    this.#settledBytes += bytes
    this.#settledRecords += entries.length
    this.#lagBytes = Math.max(0, this.#lagBytes - bytes)
    if (this.#lagBytes === 0) this.#emptyAtMs = this.#options.clock.now()
  }
}
