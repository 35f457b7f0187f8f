/** A statement that Postgres should prepare once per connection under its name; the name stands for this text alone. */
export interface PreparedStatement {
  readonly name: string
  readonly text: string
}

/**
 * What runs statements: a database or a transaction of one. Parameters are `$1`… and, whatever the driver, take and give
 * the same JavaScript values:
 *   int8 → number, bigint beyond 2^53 · numeric → string · timestamptz → Date · date, interval → string ·
 *   bytea → Buffer · json, jsonb → parsed · arrays → arrays of these
 */
export interface Queryable {
  query<Row>(statement: string | PreparedStatement, parameters?: readonly unknown[]): Promise<Row[]>
  /** Several statements at once, without parameters. */
  script(sql: string): Promise<void>
  /** Adds rows to a table; `rows` is in the binary form of COPY, see `BinaryRows`, and not to be used afterwards. */
  copyIn(table: string, columns: readonly string[], rows: Buffer): Promise<void>
}

/** Postgres, or PGlite in the data directory. Errors of the server are `DatabaseError`s. */
export interface Database extends Queryable {
  readonly kind: 'postgres' | 'pglite'
  /** Commits when `work` resolves, rolls back and rejects with its error when it rejects. */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>
  /**
   * Calls `onNotify` with each payload of a channel, and with '' whenever notifications may have been missed (after a
   * reconnect). Resolves to what ends it.
   */
  listen(channel: string, onNotify: (payload: string) => void): Promise<() => Promise<void>>
  /** Milliseconds of one round trip. */
  ping(): Promise<number>
  close(): Promise<void>
}

/** A failed statement. `sqlState` is Postgres's five characters, null when no answer came (network, timeout, closed). */
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

/** True when the data of a statement is at fault, so that repeating it cannot help: SQLSTATE classes 22, 23 and 54. */
export function isDataError(cause: unknown): boolean {
  return cause instanceof DatabaseError && cause.sqlState !== null && /^(22|23|54)/.test(cause.sqlState)
}

// System errors have five-letter codes too (EPIPE); only the server sends a severity.
function hasSeverity(cause: unknown): boolean {
  return typeof (cause as { severity?: unknown }).severity === 'string'
}

/** Postgres text as int8: a number while that is exact, a bigint beyond. */
export function parseInt8(text: string): number | bigint {
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : BigInt(text)
}
