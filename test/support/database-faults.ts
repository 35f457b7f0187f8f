import { readFileSync, readdirSync } from 'node:fs'
import pg from 'pg'
import type { TestPostgres } from './postgres.ts'

/** A fault of a Postgres that a gateway uses. */
export interface DatabaseFault {
  readonly name: string
  begin(): Promise<unknown>
  end(): Promise<unknown>
}

const ROLE = 'gateway'

/** Creates a database whose owner is a role without privileges: connection limits and locks affect it. */
export async function createOwnedDatabase(postgres: TestPostgres): Promise<{ url: string; adminUrl: string }> {
  const adminUrl = await postgres.createDatabase()
  const name = new URL(adminUrl).pathname.slice(1)
  await run(
    adminUrl,
    `CREATE ROLE ${ROLE} LOGIN; ALTER DATABASE ${name} OWNER TO ${ROLE}; ALTER SCHEMA public OWNER TO ${ROLE}`,
  )
  return { url: adminUrl.replace('//postgres@', `//${ROLE}@`), adminUrl }
}

/** All faults. @param adminUrl of a database in which a gateway has created its tables */
export function databaseFaults(postgres: TestPostgres, adminUrl: string): DatabaseFault[] {
  let locker: pg.Client | null = null
  return [
    {
      name: 'stopped',
      begin: () => postgres.kill('SIGQUIT'),
      end: () => postgres.restart(),
    },
    {
      name: 'killed',
      begin: () => postgres.kill('SIGKILL'),
      end: () => postgres.restart(),
    },
    {
      name: 'paused',
      begin: async () => {
        await postgres.kill('SIGSTOP')
        signalChildren(postgres.pid(), 'SIGSTOP')
      },
      end: async () => {
        signalChildren(postgres.pid(), 'SIGCONT')
        await postgres.kill('SIGCONT')
      },
    },
    {
      name: 'out of connections',
      begin: () =>
        run(
          adminUrl,
          `ALTER ROLE ${ROLE} CONNECTION LIMIT 0;
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${ROLE}'`,
        ),
      end: () => run(adminUrl, `ALTER ROLE ${ROLE} CONNECTION LIMIT -1`),
    },
    {
      name: 'out of disk',
      begin: () =>
        run(
          adminUrl,
          `CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE 'could not extend file' USING ERRCODE = '53100'; END $$;
            CREATE TRIGGER no_space BEFORE INSERT ON request_log EXECUTE FUNCTION no_space()`,
        ),
      end: () => run(adminUrl, 'DROP TRIGGER no_space ON request_log; DROP FUNCTION no_space'),
    },
    {
      name: 'locked',
      begin: async () => {
        const client = new pg.Client({ connectionString: adminUrl })
        await client.connect()
        try {
          // The tables are locked in the order of the settler: the reverse order could deadlock.
          await client.query('BEGIN; LOCK TABLE journal_offsets, request_log IN ACCESS EXCLUSIVE MODE')
        } catch (cause) {
          await client.end()
          throw cause
        }
        locker = client
      },
      end: async () => {
        await locker?.end()
        locker = null
      },
    },
  ]
}

/** Number of rows of the request log. */
export async function countRows(url: string): Promise<number> {
  const { rows } = await run(url, 'SELECT count(*) AS count FROM request_log')
  return Number((rows[0] as { count: string }).count)
}

async function run(url: string, sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await client.query(sql)
  } finally {
    await client.end()
  }
}

/** Postgres has a process for each connection, which continues when its parent is stopped. */
function signalChildren(parent: number, signal: NodeJS.Signals): void {
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry)
    if (!Number.isInteger(pid)) continue
    const stat = statOf(pid)
    if (Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent) process.kill(pid, signal)
  }
}

function statOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return ''
  }
}
