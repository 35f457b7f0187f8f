import { randomBytes } from 'node:crypto'
import pg from 'pg'

/** The database that `makeSchemaTemplate` makes. */
const TEMPLATE = 'sluice_schema'

/** Creates a database on the server of `url` and returns its URL: an empty one, or one with the schema and no rows. */
export async function createTestDatabase(url: string, content: 'empty' | 'schema' = 'empty'): Promise<string> {
  const name = `test_${randomBytes(6).toString('hex')}`
  await runStatement(url, `CREATE DATABASE ${name}${content === 'schema' ? ` TEMPLATE ${TEMPLATE}` : ''}`)
  return named(url, name)
}

/** Makes what databases with the schema are copies of, once for a server: to apply the migrations takes longer than a copy. */
export async function makeSchemaTemplate(url: string): Promise<void> {
  const { openPostgres } = await import('../../src/control/store/postgres-database.ts')
  const { migrate } = await import('../../src/control/store/migrate.ts')
  await runStatement(url, `CREATE DATABASE ${TEMPLATE}`)
  const database = openPostgres({
    url: named(url, TEMPLATE),
    maxConnections: 1,
    statementTimeoutMs: 60_000,
    onConnectionError: () => undefined,
  })
  try {
    await migrate(database)
  } finally {
    await database.close()
  }
}

function named(url: string, name: string): string {
  const made = new URL(url)
  made.pathname = `/${name}`
  return made.toString()
}

async function runStatement(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
