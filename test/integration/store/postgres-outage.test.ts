import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSettler } from '../../../src/control/settlement/settler.ts'
import type { Database } from '../../../src/control/store/database.ts'
import { DatabaseError } from '../../../src/control/store/database.ts'
import { migrate } from '../../../src/control/store/migrate.ts'
import { openPostgres } from '../../../src/control/store/postgres-database.ts'
import { aBegin, anEnd } from '../../contract/journal-records.ts'
import { TestJournal } from '../../contract/test-journal.ts'
import { dose } from '../../support/dose.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { startPostgres } from '../../support/postgres.ts'

const KILLS = dose('SLUICE_TEST_POSTGRES_KILLS', { short: 3, long: 16 })

describe('when Postgres goes away', () => {
  let postgres: TestPostgres
  let url: string

  beforeAll(async () => {
    postgres = await startPostgres()
    url = await postgres.createDatabase()
  })
  afterAll(() => postgres.stop())

  it('fails queries while it is down and serves them again afterwards, idle connections and all', async () => {
    const broken: Error[] = []
    const database = openPostgres({ url, onConnectionError: (error) => broken.push(error) })
    await Promise.all([database.ping(), database.ping(), database.ping()])
    await postgres.kill('SIGKILL')
    // Each of the idle connections says so in its own time: some servers still send "unexpected postmaster exit" first.
    await expect.poll(() => broken.length).toBe(3)
    await expect(database.query('SELECT 1')).rejects.toBeInstanceOf(DatabaseError)
    await expect(database.transaction((tx) => tx.query('SELECT 1'))).rejects.toMatchObject({ sqlState: null })
    await postgres.restart()
    await expect.poll(() => database.query('SELECT 1 AS one').catch(() => null)).toEqual([{ one: 1 }])
    await database.close()
  })

  it('gives up on a statement in time, and never reads its answer for that of another', async () => {
    const database = openPostgres({ url, statementTimeoutMs: 200, maxConnections: 1 })
    const slow = await database.query('SELECT pg_sleep(30)').catch((cause: unknown) => cause)
    expect(slow).toMatchObject({ sqlState: '57014' })
    expect(await database.query('SELECT 2 AS two')).toEqual([{ two: 2 }])

    // Stopped, it does not even say that time is up.
    await postgres.kill('SIGSTOP')
    const stopped = stoppedDatabase(url)
    await expect(stopped.ping()).rejects.toMatchObject({ sqlState: null })
    await postgres.kill('SIGCONT')
    await expect.poll(() => database.query('SELECT 3 AS three').catch(() => null)).toEqual([{ three: 3 }])
    await stopped.close()
    await database.close()
  })

  it('destroys a connection whose server went silent inside a transaction', async () => {
    const database = openPostgres({ url, statementTimeoutMs: 100, maxConnections: 1 })
    const [backend] = await database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    const pid = backend?.pid ?? 0
    process.kill(pid, 'SIGSTOP')
    await expect(database.transaction((tx) => tx.query('SELECT 1'))).rejects.toMatchObject({ sqlState: null })
    const [next] = await database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    expect(next?.pid).not.toBe(pid)
    process.kill(pid, 'SIGCONT')
    await database.close()
  })

  it('tells a listener that it may have missed something', async () => {
    const database = openPostgres({ url })
    const heard: string[] = []
    const end = await database.listen('changes', (payload) => heard.push(payload))
    await postgres.kill('SIGKILL')
    await postgres.restart()
    await expect.poll(() => heard, { timeout: 10_000 }).toEqual([''])
    await expect.poll(() => database.query(`SELECT pg_notify('changes', 'news')`).catch(() => null)).not.toBeNull()
    await expect.poll(() => heard).toEqual(['', 'news'])
    await end()
    await database.close()
  })

  it('loses and doubles no row when it is killed again and again under a settler', async () => {
    const database = openPostgres({ url, connectTimeoutMs: 500 })
    await migrate(database)
    const journal = new TestJournal()
    const writer = journal.writer('front-1')
    const settler = createSettler({
      database,
      journalDirectory: journal.directory,
      node: 'node-1',
      priceOf: () => 0,
      clock: { now: () => Date.now(), monotonicUs: () => 0 },
      isWriterAlive: () => true,
      logger: { info: () => undefined, warn: () => undefined, error: () => undefined },
      batchRows: 50,
      pollMs: 1,
      backoffMs: [1, 20],
    })
    settler.start()
    const settled = () => counted(database)
    let written = 0
    for (let kill = 0; kill < KILLS; kill++) {
      for (let i = 0; i < 1_000; i++) writer.write(aBegin(`r${written}`), anEnd(`r${written++}`))
      const before = await settled().catch(() => 0)
      await expect.poll(settled, { interval: 1, timeout: 10_000 }).toBeGreaterThan(before)
      await postgres.kill(kill % 2 === 0 ? 'SIGKILL' : 'SIGQUIT')
      await postgres.restart()
    }
    await settler.drain()
    expect(await settled()).toBe(written)
    const [rollup] = await database.query('SELECT sum(requests)::int4 AS requests FROM request_rollup_hourly')
    expect(rollup).toEqual({ requests: written })
    await settler.stop()
    await database.close()
    journal.remove()
  })
})

function stoppedDatabase(url: string): Database {
  return openPostgres({ url, connectTimeoutMs: 200, statementTimeoutMs: 100 })
}

async function counted(database: Database): Promise<number> {
  const [row] = await database.query<{ count: number }>('SELECT count(*) AS count FROM request_log')
  return row?.count ?? 0
}
