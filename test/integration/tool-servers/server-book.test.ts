import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ServerBook } from '../../../src/control/mcp/servers/server-book.ts'
import type { ServerBookOptions } from '../../../src/control/mcp/servers/server-book.ts'
import type { Database, Queryable } from '../../../src/control/store/database.ts'
import { migrate } from '../../../src/control/store/migrate.ts'
import { openPostgres } from '../../../src/control/store/postgres-database.ts'
import {
  allowServerTool,
  deleteToolServer,
  denyServerTool,
  listServerTools,
  noteSeenTools,
  putToolServer,
} from '../../../src/control/store/tool-servers.ts'
import type { StoredToolServer } from '../../../src/control/store/tool-servers.ts'
import { stateOfTool } from '../../../src/shared/core/tool-server.ts'
import type { ToolServer } from '../../../src/shared/core/tool-server.ts'
import { Seal } from '../../../src/shared/runtime/seal.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { startPostgres } from '../../support/postgres.ts'

const ID = 'pages'
const FIND = {
  definition: {
    name: 'find',
    title: null,
    description: 'Finds pages.',
    inputSchema: {},
    outputSchema: null,
    annotations: {},
  },
  digest: 'd1',
}

let postgres: TestPostgres
let database: Database

beforeAll(async () => {
  postgres = await startPostgres()
  database = openPostgres({ url: await postgres.createDatabase() })
  await migrate(database)
})

afterAll(async () => {
  await database.close()
  await postgres.stop()
})

/** The database, with `between` after the statement that reads the version of the servers. */
function interrupted(between: () => Promise<unknown>): Database {
  const queryable = (inner: Queryable): Queryable['query'] =>
    (async (statement, values) => {
      const rows = await inner.query(statement, values)
      const text = typeof statement === 'string' ? statement : statement.text
      if (text.includes('AS version')) await between()
      return rows
    }) as Queryable['query']
  return new Proxy(database, {
    get(target, name) {
      if (name === 'query') return queryable(target)
      if (name === 'transaction') {
        return <T>(work: (tx: Queryable) => Promise<T>) =>
          target.transaction((tx) =>
            work(
              new Proxy(tx, {
                get: (of, field) =>
                  field === 'query'
                    ? queryable(of)
                    : (Reflect.get(of, field) as (...all: unknown[]) => unknown).bind(of),
              }),
            ),
          )
      }
      return (Reflect.get(target, name) as (...all: unknown[]) => unknown).bind(target)
    },
  })
}

it.each([1, 2])(
  'shows a tool that was denied and is allowed again, also when it is denied after statement %d of a reading',
  async (at) => {
    await noteSeenTools(database, ID, [FIND], true)
    await allowServerTool(database, ID, { name: 'find', digest: FIND.digest })
    let reads = 0
    const server = { id: ID, enabled: true } as ToolServer
    const book = new ServerBook({
      database: interrupted(async () => {
        if (++reads === at) expect(await denyServerTool(database, ID, 'find')).toBe(true)
      }),
      configured: [server],
    } as unknown as ServerBookOptions)
    const states = async (): Promise<string[]> => {
      book.forget()
      const [booked] = await book.servers()
      return [...(booked?.tools.values() ?? [])].map(stateOfTool)
    }
    await states()
    expect(reads).toBe(2)
    await allowServerTool(database, ID, { name: 'find', digest: FIND.digest })
    expect(await states()).toEqual(['allowed'])
  },
)

async function statesAt(id: string): Promise<Record<string, string>> {
  const tools = await listServerTools(database, [id])
  return Object.fromEntries(tools.map((tool) => [tool.name, stateOfTool(tool)]))
}

describe('a server whose tools are all allowed', () => {
  it('gets none of them allowed again that was denied, after a list without it', async () => {
    await noteSeenTools(database, 'denied', [FIND], true)
    expect(await statesAt('denied')).toEqual({ find: 'allowed' })
    await denyServerTool(database, 'denied', 'find')
    await noteSeenTools(database, 'denied', [], true)
    await noteSeenTools(database, 'denied', [FIND], true)
    expect(await statesAt('denied')).toEqual({ find: 'waiting' })
  })

  it('gets those of its first list alone, also when that is empty', async () => {
    await noteSeenTools(database, 'empty', [], true)
    await noteSeenTools(database, 'empty', [FIND], true)
    expect(await statesAt('empty')).toEqual({ find: 'waiting' })
  })

  it('is another one after it was deleted', async () => {
    const settings = { id: 'again', place: { url: 'https://tools.example.com/mcp' } } as StoredToolServer
    const register = (): Promise<void> =>
      putToolServer(database, new Seal(Buffer.alloc(32), 'a test'), settings, { headers: {}, clientSecret: null })
    await register()
    await noteSeenTools(database, 'again', [], true)
    expect(await deleteToolServer(database, 'again')).toBe(true)
    await register()
    await noteSeenTools(database, 'again', [FIND], true)
    expect(await statesAt('again')).toEqual({ find: 'allowed' })
  })
})
