import { createHash } from 'node:crypto'
import { WebFetch } from '../../front/upstream/web-fetch.ts'
import { ownVersion } from '../../shared/config/own-version.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { ToolServer } from '../../shared/core/tool-server.ts'
import { Seal } from '../../shared/runtime/seal.ts'
import type { ToolServerParts } from '../management/tool-server-handlers.ts'
import type { ServerBook } from '../mcp/servers/server-book.ts'
import type { Database } from '../store/database.ts'
import { findToolServerDocument, TOOL_SERVER_SEAL } from '../store/tool-servers.ts'
import { toolNames } from '../mcp/servers/tool-names.ts'
import type { ControlBase } from './base.ts'
import type { ControlSnapshots } from './snapshots.ts'
import type { ControlStore } from './store.ts'

/** Operations that cannot be tools are shown up to this number. */
const MAX_LEFT_OUT = 100

export interface ControlToolServers {
  /** Made at its first use: most gateways have no upstream servers. */
  readonly book: () => Promise<ServerBook>
  readonly parts: ToolServerParts
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
  const configured = config.mcp.servers
  let made: Promise<ServerBook> | null = null
  let isClosed = false
  let web: WebFetch | null = null
  const make = async (): Promise<ServerBook> => {
    const module = await import('../mcp/servers/server-book.ts')
    const fetching = new WebFetch(clock, { reach, onFault })
    web = fetching
    const transports = {
      reach,
      version: ownVersion(),
      documentOf: (id: string) => findToolServerDocument(database, id),
      fetchWithin: (options: Parameters<WebFetch['within']>[0]) => fetching.within(options),
    }
    return new module.ServerBook({ database, seal, configured, transports, onFault })
  }
  const book = (): Promise<ServerBook> => {
    if (isClosed) return Promise.reject(new GatewayError('DRAINING', { retryAfterSeconds: 1 }))
    return (made ??= make())
  }
  const listInBackground = async (id: string): Promise<void> => {
    const servers = await book()
    servers.forget()
    const one = (await servers.servers()).find(({ server }) => server.id === id)
    // An admin sees by the state of its tools, and by a test, that this failed.
    if (one?.server.enabled === true)
      await servers.refresh(one.server, new AbortController().signal).catch(() => undefined)
  }
  const test = async (server: ToolServer, signal: AbortSignal) => {
    const startMs = performance.now()
    const since = (): number => Math.round(performance.now() - startMs)
    try {
      const tools = await (await book()).test(server, signal)
      return { latencyMs: since(), tools, error: null }
    } catch (cause) {
      const { code, message } = GatewayError.from(cause)
      return { latencyMs: since(), tools: null, error: { code, message } }
    }
  }
  return {
    book,
    parts: {
      configured,
      seal,
      reach,
      names: toolNames,
      readOpenApi,
      onChanged: (id) => {
        listInBackground(id).catch(onFault)
      },
      refresh: async (server, signal) => (await book()).refresh(server, signal),
      test,
    },
    close() {
      if (isClosed) return
      isClosed = true
      made
        ?.then((open) => open.close())
        .then(() => web?.close())
        .catch(onFault)
    },
  }
}

async function readOpenApi(text: string) {
  const [{ readDocument }, { operationsOf }] = await Promise.all([
    import('../mcp/openapi/document.ts'),
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
