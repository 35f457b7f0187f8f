import type { AttemptRecord } from '../../shared/core/request-record.ts'
import type { NamedLogField } from '../../shared/records/log-fields.ts'
import { attemptsJson } from './attempts-json.ts'
import { BinaryRows } from './binary-copy.ts'
import type { Queryable } from './database.ts'
import { DAY_MS } from './partitions.ts'
import { LOG_COLUMNS } from './request-log.ts'
import type { RollupRow } from './rollups.ts'
import { Rollups } from './rollups.ts'

const EXPECTED_ROW_BYTES = 800
const COLUMN_NAMES = LOG_COLUMNS.map(({ column }) => column)

/** A row to insert, with the columns that rollups sum. */
export interface LogRow extends RollupRow {
  readonly id: string
  /** In the order of LOG_COLUMNS: a list is faster to make and to write than an object with names. */
  readonly values: readonly unknown[]
}

/** Rows to insert, kept as bytes. Their texts must be storable. */
export class LogRows {
  /** Unix days of the rows (UTC); each must have its partition. */
  readonly days = new Set<number>()
  readonly #binary: BinaryRows
  readonly #rollups = new Rollups()
  #count = 0

  /** @param expected the expected number of rows */
  constructor(expected: number) {
    this.#binary = new BinaryRows(expected * EXPECTED_ROW_BYTES)
  }

  get count(): number {
    return this.#count
  }

  add(row: LogRow): void {
    writeRow(this.#binary, row.values)
    this.#count += 1
    this.days.add(Math.floor(row.atMs / DAY_MS))
    this.#rollups.add(row)
  }

  /** Call it once, after the last `add`. */
  async insert(queryable: Queryable): Promise<void> {
    if (this.#count > 0) await queryable.copyIn('request_log', COLUMN_NAMES, this.#binary.finish())
  }

  /** Adds the rows to their hours. Call it in the transaction that inserts the rows; otherwise the sums become wrong. */
  async addToRollups(queryable: Queryable): Promise<void> {
    await this.#rollups.addTo(queryable)
  }
}

function writeRow(binary: BinaryRows, values: readonly unknown[]): void {
  binary.row(LOG_COLUMNS.length)
  for (let index = 0; index < LOG_COLUMNS.length; index++) {
    const { type } = LOG_COLUMNS[index] as NamedLogField
    const value = values[index]
    switch (type) {
      case 'id':
      case 'text':
        binary.text(value as string | null)
        break
      case 'time':
        binary.timestamptz(value as number)
        break
      case 'flag':
        binary.bool(value as boolean)
        break
      case 'status':
        binary.int4(value as number | null)
        break
      case 'attempts':
        binary.text(attemptsJson(value as AttemptRecord[]))
        break
      case 'tags':
        if (value === null) binary.null()
        else binary.jsonb(JSON.stringify(value))
        break
      default:
        binary.int8(value as number | null)
    }
  }
}
