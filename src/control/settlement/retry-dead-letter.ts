import type { Tenants } from '../../shared/core/budget.ts'
import type { Clock } from '../../shared/runtime/clock.ts'
import { FRAME_HEADER_BYTES, readFrames } from '../../journal/frames.ts'
import { decodeFields } from '../../journal/record.ts'
import type { RecordFields } from '../../journal/record.ts'
import { writerOfSegment } from '../../journal/segment-reader.ts'
import { isDataError } from '../store/database.ts'
import type { Database } from '../store/database.ts'
import { findRowOf, lockRetries, removeEmptyRollups, removeRowOf } from '../store/dead-letters.ts'
import type { DeadLetterRow } from '../store/journal.ts'
import { removeOpenRequests } from '../store/journal.ts'
import { LogRows } from '../store/log-rows.ts'
import type { LogRow } from '../store/log-rows.ts'
import { DAY_MS, LogPartitions } from '../store/partitions.ts'
import { Rollups } from '../store/rollups.ts'
import { Charges } from './charges.ts'
import { rowOfEnd, rowOfInterrupted } from './rows.ts'
import type { PriceOf } from './rows.ts'

export interface RetryParts {
  /** This node: of others nobody here knows whether a process still writes its journal. */
  readonly node: string
  readonly clock: Clock
  /** Days for which the log is kept; 0 keeps all. */
  readonly retentionDays: number
  readonly priceOf: PriceOf
  readonly tenants: () => Tenants
  /** Whether segments of a writer of this node are still there. Once false it stays false. */
  readonly hasSegments: (writer: string) => Promise<boolean>
}

/** The row that a dead letter has become. */
export interface RetriedLetter {
  readonly requestId: string
  readonly costMicro: number
  /** The record tells how the request began and nothing of its end. */
  readonly isInterrupted: boolean
  /** Names of the budgets that it is charged to. */
  readonly budgets: readonly string[]
}

/** A dead letter cannot become a row, or must not: the message tells why. Nothing has changed. */
export class NotSettled extends Error {
  override readonly name = 'NotSettled'
}

/**
 * Makes the row of a dead letter, with its sums and charges, in one transaction with whatever `database` runs it in; the caller has taken the letter
 * in that same transaction, so that a letter is settled once. A request is in the log once: when it was noted as interrupted while its
 * end was a dead letter, its end takes the place of that row. Rejects with `NotSettled`.
 */
export async function retryDeadLetter(
  database: Database,
  letter: DeadLetterRow,
  parts: RetryParts,
): Promise<RetriedLetter> {
  const record = recordOf(letter)
  const writer = writerOfSegment(letter.segment)
  const isInterrupted = record.kind === 'begin'
  if (isInterrupted && (letter.node !== parts.node || (await parts.hasSegments(writer)))) {
    throw new NotSettled('the request may still end: its process, or another node, still has the journal of it')
  }
  const row = rowOf(record, letter, parts.priceOf)
  const oldestDay = Math.floor(parts.clock.now() / DAY_MS) - parts.retentionDays
  if (parts.retentionDays > 0 && row.atMs < oldestDay * DAY_MS) {
    throw new NotSettled('the request is older than what the log keeps, so that nobody knows whether the log had it')
  }
  const rows = new LogRows(1)
  rows.add(row)
  const charges = new Charges(parts.tenants(), letter.node)
  if (!isInterrupted) charges.add(writer, row)
  let budgets: readonly string[]
  try {
    await new LogPartitions(database).ensure(rows.days)
    budgets = await database.transaction(async (tx) => {
      await lockRetries(tx)
      await removeOpenRequests(tx, letter.node, [row.id])
      const present = await findRowOf(tx, row)
      if (present !== null && (isInterrupted || present.settlement !== 'interrupted')) {
        throw new NotSettled('the log has this request already: discard the dead letter')
      }
      if (present !== null) {
        await removeRowOf(tx, row)
        const before = new Rollups()
        before.add(present)
        await before.takeFrom(tx)
      }
      await rows.insert(tx)
      await rows.addToRollups(tx)
      const charged = await charges.post(tx, `dead-letter:${letter.node}/${letter.segment}@${letter.position}`)
      if (present !== null) await removeEmptyRollups(tx, row.atMs)
      return charged
    })
  } catch (cause) {
    if (isDataError(cause)) throw new NotSettled(messageOf(cause))
    throw cause
  }
  return { requestId: row.id, costMicro: row.costMicro, isInterrupted, budgets }
}

/** The bytes are a whole frame, damaged bytes, or the record of a request that was open. */
function recordOf({ bytes }: DeadLetterRow): RecordFields {
  const [frame] = readFrames(bytes, 0, 1).frames
  try {
    return frame?.end === bytes.length ? decodeFields(bytes, FRAME_HEADER_BYTES) : decodeFields(bytes)
  } catch (cause) {
    throw new NotSettled(`the bytes are not a record: ${messageOf(cause)}`)
  }
}

function rowOf(record: RecordFields, { node }: DeadLetterRow, priceOf: PriceOf): LogRow {
  try {
    return record.kind === 'begin' ? rowOfInterrupted(record, node) : rowOfEnd(record, node, priceOf)
  } catch (cause) {
    throw new NotSettled(messageOf(cause))
  }
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
