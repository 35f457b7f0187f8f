import { closeSync, existsSync, openSync, readFileSync, readSync, statSync } from 'node:fs'
import type { Queryable } from '../../../control/store/database.ts'
import { UsageError } from '../../../shared/config/config-error.ts'
import { readDump } from './dump.ts'
import { bounded, MAX_ROWS, TABLES } from './rows.ts'
import type { Row, Table } from './rows.ts'
import { readSqlite } from './sqlite.ts'

export interface Source {
  /** The address without its password. */
  readonly from: string
  /** A table that the source lacks has no entry. */
  readonly tables: ReadonlyMap<Table, readonly Row[]>
}

const ROWS_OF: Readonly<Record<Table, string>> = {
  channels: 'SELECT * FROM channels LIMIT $1',
  tokens: 'SELECT * FROM tokens LIMIT $1',
  users: 'SELECT * FROM users LIMIT $1',
  options: 'SELECT * FROM options LIMIT $1',
}
const MAX_DUMP_BYTES = 256 * 1_048_576
const SQLITE_MAGIC = 'SQLite format 3\0'

const DUMP_OF_MYSQL =
  'MySQL is read from a dump: run "mysqldump --skip-lock-tables DATABASE channels tokens users options > new-api.sql", then import new-api.sql'

/**
 * Reads the tables of a database of new-api: a Postgres by its address, a file of SQLite, or an SQL dump of SQLite or MySQL. Throws
 * UsageError when there is no such database.
 */
export async function readSource(address: string): Promise<Source> {
  const source = await read(address)
  const [channel] = source.tables.get('channels') ?? []
  if (!source.tables.has('channels')) {
    throw new UsageError(`${source.from} has no table "channels": it is no database of new-api`)
  }
  if (channel !== undefined && !('auto_ban' in channel)) {
    throw new UsageError(
      `${source.from} is not of new-api: its channels have no "auto_ban". The types of channels of One API have other numbers; new-api brings such a database up to date when it starts on it`,
    )
  }
  return source
}

async function read(address: string): Promise<Source> {
  if (/^postgres(ql)?:\/\//.test(address)) return readPostgres(address)
  if (/^mysql:\/\/|@(tcp|unix)\(/.test(address)) throw new UsageError(DUMP_OF_MYSQL)
  // SQLITE_PATH of new-api may have options behind the path.
  const file = existsSync(address) ? address : address.replace(/^file:/, '').replace(/\?.*$/, '')
  if (!existsSync(file)) throw new UsageError(`${file}: no such file`)
  if (statSync(file).isDirectory()) throw new UsageError(`${file} is a folder: name the file, for example one-api.db`)
  if (beginOf(file) === SQLITE_MAGIC) return { from: file, tables: readSqlite(file) }
  if (statSync(file).size > MAX_DUMP_BYTES) {
    throw new UsageError(`${file} is larger than 256 MiB: dump the tables channels, tokens, users and options alone`)
  }
  return { from: file, tables: readDump(file, readFileSync(file, 'utf8')) }
}

function beginOf(file: string): string {
  const bytes = Buffer.alloc(SQLITE_MAGIC.length)
  const descriptor = openSync(file, 'r')
  try {
    readSync(descriptor, bytes)
  } finally {
    closeSync(descriptor)
  }
  return bytes.toString('latin1')
}

async function readPostgres(address: string): Promise<Source> {
  if (!URL.canParse(address)) throw new UsageError('the address of the database is no URL: percent-encode its password')
  const { openPostgres } = await import('../../../control/store/postgres-database.ts')
  const { host, pathname } = new URL(address)
  const from = `postgres://${host}${pathname}`
  const database = openPostgres({ url: address, maxConnections: 1, connectTimeoutMs: 10_000 })
  try {
    return { from, tables: await database.transaction(tablesOf) }
  } catch (cause) {
    if (cause instanceof UsageError) throw cause
    throw new UsageError(`${from} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`)
  } finally {
    await database.close()
  }

  async function tablesOf(tx: Queryable): Promise<ReadonlyMap<Table, readonly Row[]>> {
    await tx.script('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY')
    const tables = new Map<Table, readonly Row[]>()
    for (const table of TABLES) {
      const [known] = await tx.query<{ name: string | null }>('SELECT to_regclass($1)::text AS name', [table])
      if ((known?.name ?? null) === null) continue
      tables.set(table, bounded(table, await tx.query<Row>(ROWS_OF[table], [MAX_ROWS + 1])))
    }
    return tables
  }
}
