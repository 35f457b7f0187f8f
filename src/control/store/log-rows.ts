import { attemptsJson } from './attempts-json.ts'
import { BinaryRows } from './binary-copy.ts'
import type { Queryable } from './database.ts'
import { DAY_MS } from './partitions.ts'
import type { RequestLogRow } from './request-log.ts'
import { LOG_COLUMNS } from './request-log.ts'
import type { RollupRow } from './rollups.ts'
import { Rollups } from './rollups.ts'

const EXPECTED_ROW_BYTES = 800

/** Rows to be inserted, kept as bytes: their texts must be storable. */
export class LogRows {
  /** Unix days of the rows (UTC); each must have its partition. */
  readonly days = new Set<number>()
  readonly #binary: BinaryRows
  readonly #rollups = new Rollups()
  #count = 0

  /** @param expected how many rows there may be */
  constructor(expected: number) {
    this.#binary = new BinaryRows(expected * EXPECTED_ROW_BYTES)
  }

  get count(): number {
    return this.#count
  }

  /** For who writes a row by himself. */
  get binary(): BinaryRows {
    return this.#binary
  }

  add(row: RequestLogRow): void {
    writeRow(this.#binary, row)
    this.addWritten(row)
  }

  /** Counts a row that has been written to `binary`. */
  addWritten(row: RollupRow): void {
    this.#count += 1
    this.days.add(Math.floor(row.atMs / DAY_MS))
    this.#rollups.add(row)
  }

  /** To be called once, after the last `add`. */
  async insert(queryable: Queryable): Promise<void> {
    if (this.#count > 0) await queryable.copyIn('request_log', LOG_COLUMNS, this.#binary.finish())
  }

  /** Adds the rows to their hours. In the transaction that inserts the rows, or the sums stop being true. */
  async addToRollups(queryable: Queryable): Promise<void> {
    await this.#rollups.addTo(queryable)
  }
}

/** Written out: a loop over the columns that looks the fields up by name costs three times as much. */
function writeRow(binary: BinaryRows, row: RequestLogRow): void {
  binary.row(LOG_COLUMNS.length)
  binary.text(row.id)
  binary.timestamptz(row.atMs)
  binary.text(row.endpoint)
  binary.text(row.dialect)
  binary.text(row.keyId)
  binary.text(row.keyMasked)
  binary.text(row.userId)
  binary.text(row.enterpriseId)
  binary.text(row.departmentId)
  binary.text(row.memberId)
  binary.text(row.model)
  binary.bool(row.stream)
  binary.text(row.userAgent)
  binary.text(row.clientAddress)
  binary.text(row.clientRequestId)
  binary.int4(row.status)
  binary.text(row.errorType)
  binary.text(row.errorCode)
  binary.text(row.providerId)
  binary.text(row.upstreamKeyId)
  binary.text(row.servedModel)
  binary.text(attemptsJson(row.attempts))
  binary.int8(row.promptTokens)
  binary.int8(row.completionTokens)
  binary.int8(row.cachedTokens)
  binary.int8(row.cacheWriteTokens)
  binary.int8(row.reasoningTokens)
  binary.text(row.settlement)
  binary.bool(row.aborted)
  binary.int8(row.queueUs)
  binary.int8(row.ttftUs)
  binary.int8(row.totalUs)
  binary.int8(row.overheadUs)
  binary.text(row.traceId)
  binary.text(row.node)
  binary.int8(row.costMicro)
}
