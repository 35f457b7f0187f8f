import { createHash } from 'node:crypto'
import { WebFetch } from '../../front/upstream/web-fetch.ts'
import { TOOL_CONNECTIONS } from '../../shared/api/operations/tool-connections.ts'
import { ownVersion } from '../../shared/config/own-version.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { ToolServer } from '../../shared/core/tool-server.ts'
import { Seal } from '../../shared/runtime/seal.ts'
import type { ToolConnectionParts } from '../management/tool-connection-handlers.ts'
import type { ToolServerParts } from '../management/tool-server-handlers.ts'
import type { Consents } from '../mcp/servers/consents.ts'
import type { Grants } from '../mcp/servers/grants.ts'
import type { ServerBook } from '../mcp/servers/server-book.ts'
import type { Database } from '../store/database.ts'
import { TOOL_GRANT_SEAL } from '../store/tool-server-grants.ts'
import { findToolServerDocument, TOOL_SERVER_SEAL } from '../store/tool-servers.ts'
import { toolNames } from '../mcp/servers/tool-names.ts'
import type { ControlBase } from './base.ts'
import type { ControlSnapshots } from './snapshots.ts'
import type { ControlStore } from './store.ts'

/** Operations that cannot be tools are shown up to this number. */
const MAX_LEFT_OUT = 100

/** The upstream servers, and the grants and consents of users. */
export interface OpenToolServers {
  readonly book: ServerBook
  readonly grants: Grants
  readonly consents: Consents
}

export interface ControlToolServers {
  /** Made at its first use: most gateways have no upstream servers. */
  readonly open: () => Promise<OpenToolServers>
  readonly parts: ToolServerParts
  readonly connections: ToolConnectionParts
  close(): void
}

/** Upstream servers of tools. */
export function buildToolServers(
  { config, clock, onFault }: ControlBase,
  {
    store,
    snapshots,
    database,
  }: { readonly store: ControlStore; readonly snapshots: ControlSnapshots; readonly database: Database },
): ControlToolServers {
  const { reach } = snapshots
  const seal = new Seal(store.secrets.keyHash, TOOL_SERVER_SEAL)
  const grantSeal = new Seal(store.secrets.keyHash, TOOL_GRANT_SEAL)
  const configured = config.mcp.servers
  const { consoleUrl } = config.signIn
  const { baseUrl } = config.server
  let made: Promise<OpenToolServers> | null = null
  let isClosed = false
  let web: WebFetch | null = null
  const make = async (): Promise<OpenToolServers> => {
    const [books, granting, consenting] = await Promise.all([
      import('../mcp/servers/server-book.ts'),
      import('../mcp/servers/grants.ts'),
      import('../mcp/servers/consents.ts'),
    ])
    const fetching = new WebFetch(clock, { reach, onFault })
    web = fetching
    const transports = {
      reach,
      version: ownVersion(),
      documentOf: async (id: string) => config.mcp.documents.get(id) ?? (await findToolServerDocument(database, id)),
      fetchWithin: (options: Parameters<WebFetch['within']>[0]) => fetching.within(options),
    }
    const shared = { database, seal: grantSeal, parts: transports }
    const grants = new granting.Grants({ ...shared, connectUrl: consoleUrl === null ? null : `${consoleUrl}/connect` })
    const book = new books.ServerBook({ database, seal, configured, transports, grants, onFault })
    const redirectUrl = baseUrl === null ? null : `${baseUrl}${TOOL_CONNECTIONS.toolConnectionCallback.path}`
    return { book, grants, consents: new consenting.Consents({ ...shared, book, redirectUrl }) }
  }
  const open = (): Promise<OpenToolServers> => {
    if (isClosed) return Promise.reject(new GatewayError('DRAINING', { retryAfterSeconds: 1 }))
    return (made ??= make())
  }
  /** @param userId lists them as this user, at a server with OAuth; null: such a server is not listed */
  const listInBackground = async (id: string, userId: string | null): Promise<void> => {
    const { book } = await open()
    book.forget()
    const server = (await book.servers()).find((one) => one.server.id === id)?.server
    if (server?.enabled !== true || (server.oauth !== null && userId === null)) return
    // An admin sees by the state of its tools, and by a test, that this failed.
    await book.refresh(server, userId, new AbortController().signal).catch(() => undefined)
  }
  const test = async (server: ToolServer, userId: string, signal: AbortSignal) => {
    const startMs = performance.now()
    const since = (): number => Math.round(performance.now() - startMs)
    try {
      const tools = await (await open()).book.test(server, userId, signal)
      return { latencyMs: since(), tools, error: null }
    } catch (cause) {
      const { code, message } = GatewayError.from(cause)
      if (code === 'INTERNAL') onFault(cause)
      return { latencyMs: since(), tools: null, error: { code, message } }
    }
  }
  return {
    open,
    parts: {
      configured,
      seal,
      reach,
      names: toolNames,
      readOpenApi,
      onChanged: (id) => {
        listInBackground(id, null).catch(onFault)
      },
      refresh: async (server, userId, signal) => (await open()).book.refresh(server, userId, signal),
      test,
    },
    connections: {
      consoleUrl,
      serversFor: async (user) => (await (await open()).consents.serversFor(user)).map(({ id }) => id),
      start: async (user, serverId) => (await open()).consents.start(user, serverId),
      finish: async (user, sent) => {
        const { server, keep } = await (await open()).consents.finish(user, sent)
        return { serverId: server.id, keep }
      },
      onConnected: (id, { userId, role }) => {
        // An admin is shown the tools that may be allowed.
        if (role === 'admin') listInBackground(id, userId).catch(onFault)
      },
      onEnded: (id, userId) => {
        open()
          .then(({ book }) => book.endOf(id, userId))
          .catch(onFault)
      },
    },
    close() {
      if (isClosed) return
      isClosed = true
      made
        ?.then(({ book }) => book.close())
        .then(() => web?.close())
        .catch(onFault)
    },
  }
}

async function readOpenApi(text: string) {
  const [{ readDocument }, { operationsOf }] = await Promise.all([
    import('../../shared/config/openapi-document.ts'),
    import('../mcp/openapi/operations.ts'),
  ])
  const { operations, leftOut } = operationsOf(readDocument(text, '/openapi'))
  if (operations.length === 0) {
    const [first] = leftOut
    const reason = first === undefined ? '' : ` ${first.operation}: ${first.reason}.`
    throw new GatewayError('INVALID_FIELD', {
      message: `The OpenAPI document has no operation that can be a tool.${reason}`,
      param: '/openapi',
    })
  }
  return { digest: createHash('sha256').update(text).digest('hex'), leftOut: leftOut.slice(0, MAX_LEFT_OUT) }
}
