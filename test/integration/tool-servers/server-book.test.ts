import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { KeyCaller } from '../../../src/control/mcp/callers.ts'
import { Grants } from '../../../src/control/mcp/servers/grants.ts'
import { ServerBook } from '../../../src/control/mcp/servers/server-book.ts'
import type { ServerBookOptions } from '../../../src/control/mcp/servers/server-book.ts'
import { ServerClient } from '../../../src/control/mcp/servers/server-client.ts'
import { ServerTools } from '../../../src/control/mcp/servers/server-tools.ts'
import { Tools } from '../../../src/control/mcp/tools.ts'
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
import type { ToolCallReport } from '../../../src/shared/core/tool-call.ts'
import { UpstreamReach } from '../../../src/shared/core/upstream-reach.ts'
import { Seal } from '../../../src/shared/runtime/seal.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { startPostgres } from '../../support/postgres.ts'
import { UpstreamToolServer } from '../../support/upstream-tool-server.ts'

const ID = 'pages'
const SEAL = new Seal(Buffer.alloc(32), 'a test')
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

/** The database, with `between` after each statement with this part: by default that which reads the version of the servers. */
function interrupted(between: () => Promise<unknown>, part = 'AS version'): Database {
  const queryable = (inner: Queryable): Queryable['query'] =>
    (async (statement, values) => {
      const rows = await inner.query(statement, values)
      const text = typeof statement === 'string' ? statement : statement.text
      if (text.includes(part)) await between()
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
    const register = (): Promise<void> => putToolServer(database, SEAL, settings, { headers: {}, clientSecret: null })
    await register()
    await noteSeenTools(database, 'again', [], true)
    expect(await deleteToolServer(database, 'again')).toBe(true)
    await register()
    await noteSeenTools(database, 'again', [FIND], true)
    expect(await statesAt('again')).toEqual({ find: 'allowed' })
  })
})

describe('a fault of the gateway during a call', () => {
  const { signal } = new AbortController()
  const transports = {
    reach: new UpstreamReach(),
    version: '0.0.0',
    documentOf: () => Promise.resolve(null),
    fetchWithin: () => fetch,
  }
  const grantsOf = (of: Queryable): Grants =>
    new Grants({ database: of, seal: SEAL, parts: transports, connectUrl: null })
  let upstream: UpstreamToolServer
  let server: ToolServer

  beforeAll(async () => {
    upstream = await UpstreamToolServer.start()
    upstream.tools = [{ name: 'find', description: 'Finds pages.' }]
    server = {
      id: 'faulty',
      place: { url: upstream.url, transport: 'http' },
      headers: {},
      clientSecret: null,
      source: 'file',
      timeoutMs: 10_000,
      priceMicro: 0,
      enabled: true,
      access: [{ everyone: true }],
      allowAllTools: true,
      isInteractive: false,
      samplingModel: null,
      oauth: null,
    }
  })

  afterAll(async () => {
    await upstream.stop()
  })

  const bookOf = (of: Database, onFault: (cause: unknown) => void): ServerBook =>
    new ServerBook({ database: of, seal: SEAL, configured: [server], transports, grants: grantsOf(of), onFault })

  it('is none of the server: it is recorded as INTERNAL, and reported', async () => {
    const faults: unknown[] = []
    const onFault = (cause: unknown): void => {
      faults.push(cause)
    }
    const first = bookOf(database, onFault)
    await first.refresh(server, null, signal)
    await first.close()
    const failing = interrupted(() => Promise.reject(new Error('no database')), 'INSERT INTO server_tools')
    const book = bookOf(failing, onFault)
    const reports: ToolCallReport[] = []
    const answer = {
      status: 200,
      headers: new Map<string, string>(),
      body: (async function* () {})(),
      report: (report: ToolCallReport) => {
        reports.push(report)
      },
    }
    const requestAi = () => Promise.resolve(answer)
    const tools = new Tools([new ServerTools({ database, book, grants: grantsOf(database), requestAi })], onFault)
    const key = { id: 'k', digest: 'd', tools: ['*'], enterpriseId: null, userId: null } as unknown as KeyCaller['key']
    const caller: KeyCaller = { kind: 'key', subject: 'key:k', key, origin: { address: '127.0.0.1', userAgent: '' } }
    const outcome = await tools.call({ caller, name: 'faulty__find', input: {}, signal, progress: null })
    await book.close()
    expect(outcome).toMatchObject({ isError: true, status: 500, error: { code: 'INTERNAL' } })
    expect(reports).toMatchObject([{ error: { code: 'INTERNAL', message: 'Internal error.' }, resultBytes: null }])
    expect(faults).toMatchObject([{ cause: { message: 'no database' } }])
    expect(upstream.calls).toBe(0)
  })

  it('stays one below the library that asks for the token of a user', async () => {
    const failing = interrupted(() => Promise.reject(new Error('no database')), 'FROM tool_server_grants')
    const ofUsers = { ...server, oauth: { clientId: null, scopes: [] } }
    const user = grantsOf(failing).tokenOf(ofUsers, 'somebody')
    const client = new ServerClient(ofUsers, { parts: transports, onChanged: () => undefined, user })
    const fault = { code: 'INTERNAL', cause: { message: 'no database' } }
    await expect(client.listTools(signal)).rejects.toMatchObject(fault)
    await client.close()
  })
})
