import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database, Queryable } from '../../../src/control/store/database.ts'
import { LogTail } from '../../../src/control/store/log-tail.ts'
import { migrate } from '../../../src/control/store/migrate.ts'
import { DAY_MS, LogPartitions } from '../../../src/control/store/partitions.ts'
import { openPostgres } from '../../../src/control/store/postgres-database.ts'
import { startPostgres } from '../../support/postgres.ts'
import type { TestPostgres } from '../../support/postgres.ts'

let postgres: TestPostgres
let url: string
let database: Database

beforeAll(async () => {
  postgres = await startPostgres()
  url = await postgres.createDatabase()
  database = openPostgres({ url })
  await migrate(database)
  const today = Math.floor(Date.now() / DAY_MS)
  await new LogPartitions(database).ensure([today - 1, today])
})
afterAll(async () => {
  await database.close()
  await postgres.stop()
})

async function add(tx: Queryable, ids: readonly string[]): Promise<void> {
  const columns = await database.query<{ name: string; type: string }>(
    `SELECT column_name AS name, udt_name AS type FROM information_schema.columns
     WHERE table_name = 'request_log' AND is_nullable = 'NO' AND column_default IS NULL AND column_name NOT IN ('id', 'at')`,
  )
  const values = columns.map(({ type }) => (type === 'jsonb' ? `'[]'::jsonb` : `'0'::${type}`))
  const names = columns.map(({ name }) => name)
  await tx.query(
    `INSERT INTO request_log (${['id', 'at', ...names].join(', ')})
     SELECT ${['id', 'now()', ...values].join(', ')} FROM unnest($1::text[]) AS id`,
    [ids],
  )
}

describe('the end of the log, with several settlers', () => {
  it('has each row once, in whatever order transactions begin, write and end', async () => {
    const tail = new LogTail()
    const found: string[] = []
    const read = async (): Promise<void> => {
      const { rows, omitted } = await tail.read(database, Date.now())
      expect(omitted).toBe(0)
      found.push(...rows.map(({ id }) => id))
    }
    await add(database, ['before'])
    await read()
    const written: string[] = []
    const settlers = Array.from({ length: 6 }, async (_, settler) => {
      for (let turn = 0; turn < 30; turn++) {
        const ids = Array.from({ length: 5 }, (_row, at) => `${settler}-${turn}-${at}`)
        await database.transaction(async (tx) => {
          await add(tx, ids.slice(0, 2))
          if (turn % 5 === settler % 5) await tx.query('SELECT pg_sleep(0.02)')
          await add(tx, ids.slice(2))
        })
        written.push(...ids)
      }
    })
    const writing = { isOver: false }
    const reading = (async () => {
      while (!writing.isOver) await read()
    })()
    await Promise.all(settlers)
    writing.isOver = true
    await reading
    await read()
    expect(found.sort()).toEqual(written.sort())
  })

  it('has the rows of a transaction that was open during a read', async () => {
    const tail = new LogTail()
    await tail.read(database, Date.now())
    await database.transaction(async (tx) => {
      await add(tx, ['late'])
      await add(database, ['early'])
      expect((await tail.read(database, Date.now())).rows.map(({ id }) => id)).toEqual(['early'])
    })
    expect((await tail.read(database, Date.now())).rows.map(({ id }) => id)).toEqual(['late'])
    expect((await tail.read(database, Date.now())).rows).toEqual([])
  })

  it('misses nothing when a read fails half way', async () => {
    const tail = new LogTail()
    await tail.read(database, Date.now())
    await add(database, ['one'])
    let statements = 0
    const failing: Queryable = {
      ...database,
      query: (statement, parameters) => {
        statements += 1
        return statements > 2 ? Promise.reject(new Error('gone')) : database.query(statement, parameters)
      },
    }
    await expect(tail.read(failing, Date.now())).rejects.toThrow('gone')
    expect((await tail.read(database, Date.now())).rows.map(({ id }) => id)).toEqual(['one'])
  })

  it('reads the last blocks alone of a long table', async () => {
    await add(
      database,
      Array.from({ length: 60_000 }, (_, at) => `long-${at}`),
    )
    const alone = openPostgres({ url, maxConnections: 1 })
    const tail = new LogTail()
    await tail.read(alone, Date.now())
    const before = await blocksRead(alone)
    await tail.read(alone, Date.now())
    const blocks = (await blocksRead(alone)) - before
    const [table] = await alone.query<{ blocks: number }>(`SELECT (pg_relation_size($1) / 8192)::int4 AS blocks`, [
      TABLE,
    ])
    await alone.close()
    expect(blocks).toBeGreaterThan(100)
    expect(blocks).toBeLessThan(200)
    expect(table?.blocks).toBeGreaterThan(1_000)
  })
})

const TABLE = `request_log_${new Date().toISOString().slice(0, 10).replaceAll('-', '')}`

/** Counters of a connection are sent when it asks for it: this must be the connection that has read. */
async function blocksRead(alone: Queryable): Promise<number> {
  await alone.query('SELECT pg_stat_force_next_flush()')
  const [row] = await alone.query<{ blocks: number }>(
    'SELECT (heap_blks_read + heap_blks_hit)::int4 AS blocks FROM pg_statio_user_tables WHERE relname = $1',
    [TABLE],
  )
  return row?.blocks ?? 0
}
