import pg from 'pg'
import type { Database, PreparedStatement, Queryable } from './database.ts'
import { DatabaseError, parseInt8 } from './database.ts'

export interface PostgresOptions {
  readonly url: string
  readonly maxConnections?: number
  readonly connectTimeoutMs?: number
  /** The server enforces it. A timer here fires a second later, for servers that no longer answer. */
  readonly statementTimeoutMs?: number
  /** Called for connections that break while idle, and for listeners that reconnect. */
  readonly onConnectionError?: (error: Error) => void
}

const OID = {
  bytea: 17,
  int8: 20,
  date: 1082,
  interval: 1186,
  int8Array: 1016,
  textArray: 1009,
  numericArray: 1231,
  dateArray: 1182,
}

/** Opens no connection yet. The first query connects, and rejects with a `DatabaseError` while the server is away. */
export function openPostgres(options: PostgresOptions): Database {
  const statementTimeoutMs = options.statementTimeoutMs ?? 15_000
  const connection = {
    connectionString: options.url,
    application_name: 'sluice',
    connectionTimeoutMillis: options.connectTimeoutMs ?? 5_000,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + 1_000,
    idle_in_transaction_session_timeout: statementTimeoutMs * 2,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: typeParsers(),
  }
  const onConnectionError = options.onConnectionError ?? (() => undefined)
  const pool = new pg.Pool({ ...connection, max: options.maxConnections ?? 8, idleTimeoutMillis: 60_000 })
  // Without this handler, a restart of the server ends this process.
  pool.on('error', onConnectionError)

  const withClient = async <T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> => {
    const client = await connect(pool)
    // A client in use reports a broken connection here as well as through its query.
    client.on('error', ignore)
    let broken = false
    try {
      return await work(client)
    } catch (cause) {
      broken = cause instanceof DatabaseError && isBroken(cause)
      throw cause
    } finally {
      client.removeListener('error', ignore)
      // A client that timed out still waits for its answer, and the next query would read that answer: destroy the client.
      client.release(broken)
    }
  }

  return {
    kind: 'postgres',
    query: <Row>(statement: string | PreparedStatement, parameters?: readonly unknown[]) =>
      withClient((client) => queryable(client).query<Row>(statement, parameters)),
    script: (sql) => withClient((client) => queryable(client).script(sql)),
    copyIn: (table, columns, rows) => withClient((client) => queryable(client).copyIn(table, columns, rows)),
    transaction: (work) =>
      withClient(async (client) => {
        const tx = queryable(client)
        await tx.script('BEGIN')
        try {
          const result = await work(tx)
          await commit(client)
          return result
        } catch (cause) {
          await rollback(tx, cause)
          throw cause
        }
      }),
    listen: (channel, onNotify) => listen(connection, channel, onNotify, onConnectionError),
    ping: async () => {
      const startMs = performance.now()
      await withClient((client) => queryable(client).script('SELECT 1'))
      return performance.now() - startMs
    },
    close: () => pool.end(),
  }
}

async function connect(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect()
  } catch (cause) {
    throw DatabaseError.from(cause)
  }
}

function queryable(client: pg.ClientBase): Queryable {
  return {
    query: async <Row>(statement: string | PreparedStatement, parameters: readonly unknown[] = []) => {
      const config = typeof statement === 'string' ? { text: statement } : { ...statement }
      try {
        const result = await client.query({ ...config, values: parameters.map(toParameter) })
        return result.rows as Row[]
      } catch (cause) {
        throw DatabaseError.from(cause)
      }
    },
    script: async (sql) => {
      try {
        await client.query(sql)
      } catch (cause) {
        throw DatabaseError.from(cause)
      }
    },
    copyIn: (table, columns, rows) =>
      new Promise((resolve, reject) => {
        const sql = `COPY ${table} (${columns.join(', ')}) FROM STDIN (FORMAT binary)`
        client.query(
          new CopyIn(sql, rows, (cause) => {
            if (cause === null) resolve()
            else reject(DatabaseError.from(cause))
          }),
        )
      }),
  }
}

/** A COPY statement that sends its bytes when the server is ready for them; pg itself has none. */
class CopyIn extends pg.Query {
  readonly #bytes: Buffer

  constructor(sql: string, bytes: Buffer, done: (cause: Error | null) => void) {
    // The type declarations lack the callback of `client.query`.
    super(...([sql, undefined, done] as unknown as [string]))
    this.#bytes = bytes
  }

  handleCopyInResponse(connection: CopyConnection): void {
    connection.sendCopyFromChunk(this.#bytes)
    connection.endCopyFrom()
  }
}

interface CopyConnection {
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
}

/** Postgres answers the COMMIT of a failed transaction with ROLLBACK and no error, which must not pass for success. */
async function commit(client: pg.ClientBase): Promise<void> {
  let command: string
  try {
    command = (await client.query('COMMIT')).command
  } catch (cause) {
    throw DatabaseError.from(cause)
  }
  if (command !== 'COMMIT') throw new DatabaseError('the transaction had failed and was rolled back', '25P02', null)
}

/** When the rollback fails too, the connection is unusable: the error that says this replaces the first one. */
async function rollback(tx: Queryable, cause: unknown): Promise<void> {
  if (cause instanceof DatabaseError && isBroken(cause)) return
  try {
    await tx.script('ROLLBACK')
  } catch (second) {
    throw new DatabaseError('the rollback failed', null, second instanceof Error ? second : cause)
  }
}

/** No SQLSTATE means timeout or network. Classes 08 and 57P mean that the server closes the connection. */
function isBroken(error: DatabaseError): boolean {
  return error.sqlState === null || /^(08|57P)/.test(error.sqlState)
}

/** Converts dates to UTC text: pg would send them in the time zone of this process. */
function toParameter(value: unknown): unknown {
  return value instanceof Date ? value.toISOString() : value
}

function typeParsers(): pg.TypeOverrides {
  const types = new pg.TypeOverrides()
  types.setTypeParser(OID.int8, parseInt8)
  types.setTypeParser(OID.date, (text: string) => text)
  types.setTypeParser(OID.interval, (text: string) => text)
  const textArray = pg.types.getTypeParser(OID.textArray) as (text: string) => (string | null)[]
  types.setTypeParser(OID.int8Array, (text: string) =>
    textArray(text).map((item) => (item === null ? null : parseInt8(item))),
  )
  types.setTypeParser(OID.numericArray, textArray)
  types.setTypeParser(OID.dateArray, textArray)
  return types
}

/** Listens on its own connection, and reconnects with backoff until the caller ends it. */
async function listen(
  connection: pg.ClientConfig,
  channel: string,
  onNotify: (payload: string) => void,
  onConnectionError: (error: Error) => void,
): Promise<() => Promise<void>> {
  let ended = false
  let client: pg.Client | null = null
  let timer: NodeJS.Timeout | null = null
  let delayMs = 100

  const open = async (): Promise<void> => {
    const next = new pg.Client(connection)
    let lost = false
    const onLost = (error?: Error): void => {
      if (lost) return
      lost = true
      if (error !== undefined) onConnectionError(error)
      if (ended) return
      delayMs = Math.min(delayMs * 2, 5_000)
      timer = setTimeout(() => void reopen(), delayMs)
      next.end().catch(ignore)
    }
    next.on('error', onLost)
    next.on('end', () => onLost())
    next.on('notification', (message) => onNotify(message.payload ?? ''))
    try {
      await next.connect()
      await next.query(`LISTEN ${pg.escapeIdentifier(channel)}`)
    } catch (cause) {
      lost = true
      next.end().catch(ignore)
      throw DatabaseError.from(cause)
    }
    if (ended) return void next.end().catch(ignore)
    client = next
    delayMs = 100
  }
  const reopen = async (): Promise<void> => {
    if (ended) return
    try {
      await open()
      if (!ended) onNotify('')
    } catch (cause) {
      onConnectionError(cause instanceof Error ? cause : new Error(String(cause)))
      delayMs = Math.min(delayMs * 2, 5_000)
      if (!ended) timer = setTimeout(() => void reopen(), delayMs)
    }
  }

  await open()
  return async () => {
    ended = true
    if (timer !== null) clearTimeout(timer)
    await client?.end().catch(ignore)
  }
}

function ignore(): void {}
