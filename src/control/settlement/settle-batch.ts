import { NO_TENANTS } from '../../shared/core/budget.ts'
import type { Tenants } from '../../shared/core/budget.ts'
import type { Database, Queryable } from '../store/database.ts'
import { DatabaseError, isDataError } from '../store/database.ts'
import type { DeadLetter, OffsetMove, OpenRequest } from '../store/journal.ts'
import { addDeadLetters, addOpenRequests, moveOffsets, removeOpenRequests } from '../store/journal.ts'
import type { LogPartitions } from '../store/partitions.ts'
import { LogRows } from '../store/log-rows.ts'
import { FRAME_HEADER_BYTES } from '../../journal/frames.ts'
import { decodeFields, idOfBegin } from '../../journal/record.ts'
import type { RecordFields } from '../../journal/record.ts'
import { Charges } from './charges.ts'
import type { KnownOffsets } from '../../journal/reader.ts'
import { checkedId, rowOfEnd, rowOfInterrupted } from './rows.ts'
import type { PriceOf } from './rows.ts'
import type { JournalEntry } from '../../journal/segment-reader.ts'
import { bytesOf } from '../../journal/segment-reader.ts'

const NO_PARTITION = '23514'

export interface SettleTarget {
  readonly database: Database
  readonly node: string
  readonly partitions: LogPartitions
  readonly priceOf: PriceOf
  /** Returns the current tenants: who pays for what. */
  readonly tenants: () => Tenants
  /** Called after each commit. */
  readonly onCommitted: (rows: number, deadLetters: number) => void
  /** Its abort rolls back the batch under way. */
  readonly signal: AbortSignal
}

/** The changes of a batch to the tables. */
interface Changes {
  readonly rows: LogRows
  readonly charges: Charges
  readonly opened: OpenRequest[]
  /** Ids of requests that ended, and whose begin record is in an earlier batch or missing. */
  readonly closed: string[]
  readonly deadLetters: DeadLetter[]
}

/** Interrupted requests cost nothing, because their usage is unknown. */
const NO_CHARGES = new Charges(NO_TENANTS, '')

/** Another settler moved the offsets of this node. */
export class OffsetConflict extends Error {
  constructor(node: string) {
    super(`the journal of node ${node} is being settled by another process as well`)
    this.name = 'OffsetConflict'
  }
}

/**
 * Commits entries and the offsets after them in one transaction, and records the new offsets in `offsets`. Entries are in
 * journal order per segment. When the database refuses the data, the batch is halved until the bad entry is alone, and that entry
 * becomes a dead letter. Rejects when the database fails otherwise; `offsets` then has the commits until the failure.
 */
export async function settleEntries(
  target: SettleTarget,
  entries: readonly JournalEntry[],
  offsets: KnownOffsets,
): Promise<void> {
  const commit = (changes: Changes) => commitEntries(target, entries, changes, offsets)
  const refusal = await refusalOf(target, () => commit(changesOf(entries, target)))
  if (refusal === null) return
  const [only, ...others] = entries
  if (only === undefined) return
  if (others.length === 0) {
    await commit(noRowsBut(deadLetter(only, refusal)))
    return
  }
  const middle = entries.length >>> 1
  await settleEntries(target, entries.slice(0, middle), offsets)
  await settleEntries(target, entries.slice(middle), offsets)
}

/** Commits rows for open requests of a dead writer whose journal is read to its end. */
export async function settleInterrupted(target: SettleTarget, open: readonly OpenRequest[]): Promise<void> {
  const commit = (changes: Changes) => commitInterrupted(target, open, changes)
  const refusal = await refusalOf(target, () => commit(changesOfInterrupted(open, target.node)))
  if (refusal === null) return
  const [only, ...others] = open
  if (only === undefined) return
  if (others.length === 0) {
    await commit(noRowsBut(openDeadLetter(only, refusal)))
    return
  }
  const middle = open.length >>> 1
  await settleInterrupted(target, open.slice(0, middle))
  await settleInterrupted(target, open.slice(middle))
}

/** Returns null when `commit` succeeded, or the text of the database's error when it refused the data. */
async function refusalOf(target: SettleTarget, commit: () => Promise<void>): Promise<string | null> {
  for (let attempt = 0; ; attempt++) {
    try {
      await commit()
      return null
    } catch (cause) {
      if (!isDataError(cause)) throw cause
      if (cause instanceof DatabaseError && cause.sqlState === NO_PARTITION && attempt === 0) {
        target.partitions.forget()
        continue
      }
      return messageOf(cause)
    }
  }
}

/**
 * A begin record whose end is in the same batch never reaches the table of open requests, and only its id is read. Each end
 * record becomes the bytes of a row at once, so that few objects live as long as the batch.
 */
function changesOf(entries: readonly JournalEntry[], { node, priceOf, tenants }: SettleTarget): Changes {
  const rows = new LogRows(entries.length >>> 1)
  const charges = new Charges(tenants(), node)
  const deadLetters: DeadLetter[] = []
  const begun = new Map<string, JournalEntry>()
  const closed: string[] = []
  for (const entry of entries) {
    if (entry.damage !== null) {
      deadLetters.push(deadLetter(entry, entry.damage))
      continue
    }
    try {
      const from = payloadStart(entry)
      const to = chunkEnd(entry)
      const begunId = idOfBegin(entry.chunk, from, to)
      const record = begunId === null ? fieldsOf(entry) : null
      if (record?.kind === 'end') {
        const row = rowOfEnd(record, node, priceOf)
        rows.add(row)
        charges.add(entry.writer, row)
        if (!begun.delete(row.id)) closed.push(row.id)
      } else {
        begun.set(checkedId(begunId ?? record?.id ?? ''), entry)
      }
    } catch (cause) {
      deadLetters.push(deadLetter(entry, messageOf(cause)))
    }
  }
  const opened: OpenRequest[] = []
  for (const [requestId, entry] of begun) {
    try {
      opened.push(openRequest(entry, requestId))
    } catch (cause) {
      deadLetters.push(deadLetter(entry, messageOf(cause)))
    }
  }
  return { rows, charges, opened, closed, deadLetters }
}

function changesOfInterrupted(open: readonly OpenRequest[], node: string): Changes {
  const rows = new LogRows(open.length)
  const deadLetters: DeadLetter[] = []
  for (const request of open) {
    try {
      rows.add(rowOfOpen(request, node))
    } catch (cause) {
      deadLetters.push(openDeadLetter(request, messageOf(cause)))
    }
  }
  return { rows, charges: NO_CHARGES, opened: [], closed: [], deadLetters }
}

function noRowsBut(deadLetter: DeadLetter): Changes {
  return { rows: new LogRows(0), charges: NO_CHARGES, opened: [], closed: [], deadLetters: [deadLetter] }
}

async function commitEntries(
  target: SettleTarget,
  entries: readonly JournalEntry[],
  changes: Changes,
  offsets: KnownOffsets,
): Promise<void> {
  const { database, node, partitions, signal } = target
  await partitions.ensure(changes.rows.days)
  const moves = offsetMoves(entries, offsets)
  await database.transaction(async (connection) => {
    const tx = untilAborted(connection, signal)
    await makeDurable(tx)
    // The offsets move first, so that a second settler of this node stops here and does no work.
    if (!(await moveOffsets(tx, node, moves))) throw new OffsetConflict(node)
    await addOpenRequests(tx, node, changes.opened)
    await removeOpenRequests(tx, node, changes.closed)
    await insertRows(tx, node, changes)
    await changes.charges.post(tx, batchName(node, moves))
  })
  target.onCommitted(changes.rows.count, changes.deadLetters.length)
  for (const { segment, position, createdAtMs } of moves) {
    offsets.set(segment, {
      position,
      createdAtMs,
      isStored: true,
      isVerified: offsets.get(segment)?.isVerified === true,
    })
  }
}

async function commitInterrupted(target: SettleTarget, open: readonly OpenRequest[], changes: Changes): Promise<void> {
  const { database, node, partitions, signal } = target
  await partitions.ensure(changes.rows.days)
  await database.transaction(async (connection) => {
    const tx = untilAborted(connection, signal)
    await makeDurable(tx)
    const removed = await removeOpenRequests(
      tx,
      node,
      open.map(({ requestId }) => requestId),
    )
    if (removed !== open.length) throw new OffsetConflict(node)
    await insertRows(tx, node, changes)
  })
  target.onCommitted(changes.rows.count, changes.deadLetters.length)
}

/** Rejects each further statement once the signal is aborted. */
function untilAborted(connection: Queryable, signal: AbortSignal): Queryable {
  const unlessAborted = <T>(run: () => Promise<T>): Promise<T> =>
    signal.aborted ? Promise.reject(signal.reason as Error) : run()
  return {
    query: (statement, parameters) => unlessAborted(() => connection.query(statement, parameters)),
    script: (sql) => unlessAborted(() => connection.script(sql)),
    copyIn: (table, columns, rows) => unlessAborted(() => connection.copyIn(table, columns, rows)),
  }
}

/** Makes this commit synchronous, whatever the setting of the server: segments are deleted after it. */
function makeDurable(tx: Queryable): Promise<void> {
  return tx.script('SET LOCAL synchronous_commit = on')
}

async function insertRows(tx: Queryable, node: string, changes: Changes): Promise<void> {
  await changes.rows.insert(tx)
  await changes.rows.addToRollups(tx)
  await addDeadLetters(tx, node, changes.deadLetters)
}

/** The name is unique: positions only grow, so no two batches end at the same position. */
function batchName(node: string, moves: readonly OffsetMove[]): string {
  return `${node}/${moves[0]?.segment ?? ''}@${moves[0]?.position ?? 0}`
}

function offsetMoves(entries: readonly JournalEntry[], offsets: KnownOffsets): OffsetMove[] {
  const ends = new Map<string, number>()
  for (const { segment, end } of entries) ends.set(segment, end)
  return [...ends].map(([segment, position]) => {
    const known = offsets.get(segment)
    const expected = known?.isStored === true ? known.position : null
    return { segment, position, expected, createdAtMs: known?.createdAtMs ?? 0 }
  })
}

function payloadStart(entry: JournalEntry): number {
  return entry.chunkStart + FRAME_HEADER_BYTES
}

function chunkEnd({ chunkStart, start, end }: JournalEntry): number {
  return chunkStart + end - start
}

function fieldsOf(entry: JournalEntry): RecordFields {
  return decodeFields(entry.chunk, payloadStart(entry), chunkEnd(entry))
}

/** Throws when the entry is not a valid record. */
function openRequest(entry: JournalEntry, requestId: string): OpenRequest {
  const { writer, segment, start } = entry
  fieldsOf(entry)
  const record = bytesOf(entry).subarray(FRAME_HEADER_BYTES)
  return { requestId, writer, segment, position: start, record }
}

function rowOfOpen(request: OpenRequest, node: string): ReturnType<typeof rowOfInterrupted> {
  const record = decodeFields(request.record)
  if (record.kind !== 'begin') throw new Error('not a begin record')
  return rowOfInterrupted(record, node)
}

function deadLetter(entry: JournalEntry, reason: string): DeadLetter {
  return { segment: entry.segment, position: entry.start, reason, bytes: bytesOf(entry) }
}

function openDeadLetter({ segment, position, record }: OpenRequest, reason: string): DeadLetter {
  return { segment, position, reason, bytes: record }
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
