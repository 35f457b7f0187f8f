import type { Queryable } from './database.ts'
import { DAY_MS, partitionName } from './partitions.ts'
import { LOG_SELECT } from './request-log.ts'
import type { RequestLogRow } from './request-log.ts'

/** A transaction that inserts rows is committed within this time, as long as the database is not overloaded. */
const COMMIT_MS = 5_000
/** A writer may fill blocks that another one has added; they add 64 at a time at most. */
const BLOCKS_BEFORE_END = 128
/** The most rows of a table that one read returns. */
const MAX_ROWS = 2_000

const SIZES = `SELECT name, pg_current_snapshot()::text AS snapshot,
    (pg_relation_size(to_regclass(name)) / current_setting('block_size')::int8)::int8 AS blocks
  FROM unnest($1::text[]) AS name`

/** Rows have 32 bits of the id of the transaction that inserted them; `top` has the others. */
const placesIn = (table: string): string => `WITH now AS MATERIALIZED (
    SELECT pg_current_snapshot() AS snapshot, pg_snapshot_xmax(pg_current_snapshot())::text::int8 AS top)
  SELECT now.snapshot::text AS snapshot, added.place, added.total FROM now LEFT JOIN LATERAL (
    SELECT place, (count(*) OVER ())::int4 AS total
    FROM (
      SELECT ctid::text AS place, at, id, now.top - ((now.top - xmin::text::int8) & 4294967295) AS writer
      FROM ${table} WHERE ctid >= $1::text::tid) AS late
    WHERE $2::text IS NULL OR (writer >= pg_snapshot_xmin($2::text::pg_snapshot)::text::int8
      AND NOT pg_visible_in_snapshot(writer::text::xid8, $2::text::pg_snapshot))
    ORDER BY at DESC, id DESC LIMIT $3::int4) AS added ON true`

const rowsAt = (table: string): string =>
  `${LOG_SELECT} FROM ${table} WHERE ctid = ANY ($1::text[]::tid[]) ORDER BY at DESC, id DESC`

interface Mark {
  readonly readMs: number
  readonly block: number
}

/** The state of a table after the last read. */
interface Table {
  /** Its ends, the oldest first. Reading begins before the first one, which is older than COMMIT_MS where there is such a one. */
  readonly marks: readonly Mark[]
  /** The transactions whose rows have been read; null: none. */
  readonly snapshot: string | null
}

export interface NewRows {
  /** Newest first. */
  readonly rows: readonly RequestLogRow[]
  /** Further new rows, which are not among them. */
  readonly omitted: number
}

/**
 * Finds the rows that the settlers of all nodes have added to the log since the last read: those of transactions that the last read did
 * not see. Rows are only ever appended, so they are at the ends of the tables of these days. No index, trigger or message costs anything
 * while nobody reads. A row may be missed in space that a failed transaction has left, and of a request that ends after more than a day.
 */
export class LogTail {
  #tables: ReadonlyMap<number, Table> = new Map()
  #hasBegun = false

  /** The first call returns nothing. */
  async read(queryable: Queryable, nowMs: number): Promise<NewRows> {
    const today = Math.floor(nowMs / DAY_MS)
    // The clock of another node may be ahead at midnight.
    const days = [today + 1, today, today - 1]
    const sizes = await queryable.query<{ name: string; snapshot: string; blocks: number | null }>(SIZES, [
      days.map(partitionName),
    ])
    const tables = new Map<number, Table>()
    const rows: RequestLogRow[] = []
    let omitted = 0
    for (const day of days) {
      const name = partitionName(day)
      const size = sizes.find((one) => one.name === name)
      if (size === undefined || size.blocks === null || size.blocks === 0) continue
      const table = this.#tables.get(day) ?? { marks: [], snapshot: this.#hasBegun ? null : size.snapshot }
      const found = await addedTo(queryable, name, table, { readMs: nowMs, block: size.blocks })
      tables.set(day, found.table)
      rows.push(...found.rows)
      omitted += found.omitted
    }
    // Only now: a read that fails is repeated from the same place.
    this.#tables = tables
    this.#hasBegun = true
    return { rows, omitted }
  }
}

async function addedTo(
  queryable: Queryable,
  name: string,
  table: Table,
  mark: Mark,
): Promise<NewRows & { table: Table }> {
  const { marks, snapshot } = table
  const oldest = snapshot === null ? 0 : Math.min(marks[0]?.block ?? mark.block, mark.block)
  const from = `(${Math.max(0, oldest - BLOCKS_BEFORE_END)},0)`
  const found = await queryable.query<{ snapshot: string; place: string | null; total: number | null }>(
    placesIn(name),
    [from, snapshot, MAX_ROWS],
  )
  const places = found.flatMap(({ place }) => place ?? [])
  const rows = places.length === 0 ? [] : await queryable.query<RequestLogRow>(rowsAt(name), [places])
  const all = [...marks, mark]
  const first = all.findLastIndex(({ readMs }) => readMs <= mark.readMs - COMMIT_MS)
  return {
    rows,
    omitted: (found[0]?.total ?? 0) - rows.length,
    table: { marks: all.slice(Math.max(0, first)), snapshot: found[0]?.snapshot ?? snapshot },
  }
}
