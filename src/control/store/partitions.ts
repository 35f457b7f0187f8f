import type { Database } from './database.ts'

export const DAY_MS = 86_400_000
const LOCK = 7_585_424

/** Returns the name of the table of a Unix day. */
export function partitionName(day: number): string {
  return `request_log_${new Date(day * DAY_MS).toISOString().slice(0, 10).replaceAll('-', '')}`
}

/** Creates the daily partitions of the request log, and remembers which ones exist. */
export class LogPartitions {
  readonly #database: Database
  readonly #known = new Set<number>()

  constructor(database: Database) {
    this.#database = database
  }

  /** Creates the missing partitions of the given days (Unix days, UTC). */
  async ensure(days: Iterable<number>): Promise<void> {
    for (const day of days) {
      if (this.#known.has(day)) continue
      await createPartition(this.#database, day)
      this.#known.add(day)
    }
  }

  /** Call it when an insert finds no partition: one was dropped. */
  forget(): void {
    this.#known.clear()
  }
}

/**
 * Creates the table first and attaches it then: `CREATE TABLE … PARTITION OF` would wait for every reader of the log, and every
 * later reader would wait for it.
 */
async function createPartition(database: Database, day: number): Promise<void> {
  const from = new Date(day * DAY_MS).toISOString()
  const to = new Date((day + 1) * DAY_MS).toISOString()
  const name = partitionName(day)
  await database.transaction(async (tx) => {
    await tx.query('SELECT pg_advisory_xact_lock($1)', [LOCK])
    const attached = await tx.query(
      `SELECT 1 FROM pg_inherits WHERE inhparent = 'request_log'::regclass AND inhrelid = to_regclass($1)`,
      [name],
    )
    if (attached.length > 0) return
    await tx.script(`
      SET LOCAL client_min_messages = warning;
      CREATE TABLE IF NOT EXISTS ${name} (LIKE request_log INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
      ALTER TABLE request_log ATTACH PARTITION ${name} FOR VALUES FROM ('${from}') TO ('${to}')`)
  })
}
