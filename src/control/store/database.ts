/** A statement that Postgres prepares once per connection. No other text may have its name. */
export interface PreparedStatement {
  readonly name: string
  readonly text: string
}

/**
 * Runs statements: a database, or a transaction of it. Parameters are `$1`…. Both drivers take and return the same JavaScript
 * values:
 *   int8 → number, bigint beyond 2^53 · numeric → string · timestamptz → Date · date, interval → string ·
 *   bytea → Buffer · json, jsonb → parsed · arrays → arrays of these
 */
export interface Queryable {
  query<Row>(statement: string | PreparedStatement, parameters?: readonly unknown[]): Promise<Row[]>
  /** Runs several statements without parameters. */
  script(sql: string): Promise<void>
  /** Adds rows to a table. `rows` is in the binary form of COPY, see `BinaryRows`; do not use it afterwards. */
  copyIn(table: string, columns: readonly string[], rows: Buffer): Promise<void>
}

/** Postgres, or PGlite in the data directory. Server errors are `DatabaseError`s. */
export interface Database extends Queryable {
  readonly kind: 'postgres' | 'pglite'
  /** Commits when `work` resolves. Rolls back when `work` rejects, and rejects with its error. */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>
  /**
   * Calls `onNotify` with each payload of a channel, and with '' whenever notifications may have been missed (after a
   * reconnect). Resolves to a function that ends the listening.
   */
  listen(channel: string, onNotify: (payload: string) => void): Promise<() => Promise<void>>
  /** Milliseconds of one round trip. */
  ping(): Promise<number>
  close(): Promise<void>
}

/** A failed statement. `sqlState` has Postgres's five characters; null when no answer came (network, timeout, closed). */
export class DatabaseError extends Error {
  readonly sqlState: string | null

  constructor(message: string, sqlState: string | null, cause: unknown) {
    super(message, { cause })
    this.name = 'DatabaseError'
    this.sqlState = sqlState
  }

  static from(cause: unknown): DatabaseError {
    if (cause instanceof DatabaseError) return cause
    const { message, code } = cause as { message?: unknown; code?: unknown }
    const sqlState = typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && hasSeverity(cause) ? code : null
    return new DatabaseError(typeof message === 'string' ? message : String(cause), sqlState, cause)
  }
}

/** Returns true when the data of a statement is at fault, so that a retry cannot help: SQLSTATE classes 22, 23 and 54. */
export function isDataError(cause: unknown): boolean {
  return cause instanceof DatabaseError && cause.sqlState !== null && /^(22|23|54)/.test(cause.sqlState)
}

// System errors have five-letter codes too (EPIPE); only the server sends a severity.
function hasSeverity(cause: unknown): boolean {
  return typeof (cause as { severity?: unknown }).severity === 'string'
}

/** Parses a Postgres int8: as a number when that is exact, otherwise as a bigint. */
export function parseInt8(text: string): number | bigint {
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : BigInt(text)
}
