import { GatewayError } from '../../../shared/core/errors.ts'
import { stateOfTool } from '../../../shared/core/tool-server.ts'
import type { ServerTool, ToolServer } from '../../../shared/core/tool-server.ts'
import type { Seal } from '../../../shared/runtime/seal.ts'
import type { Database, Queryable } from '../../store/database.ts'
import { listServerTools, listToolServers, noteSeenTools, toolServersVersion } from '../../store/tool-servers.ts'
import type { DigestedTool } from '../../store/tool-servers.ts'
import type { Grants } from './grants.ts'
import type { UserToken } from './user-token.ts'
import { ServerClient } from './server-client.ts'
import { toolNames } from './tool-names.ts'
import type { ConnectionParts } from './open-connection.ts'
import { untilAborted } from './until-aborted.ts'

/** Changes by other machines are seen after this time. */
const FRESH_MS = 1_000
/** The tools of a server are listed again before a call when that was longer ago. */
const LIST_AGAIN_MS = 300_000
const AFTER_NEWS_MS = 1_000
/** All pages of a list together. */
const MAX_LIST_MS = 60_000
/** Clients of single users, of all servers with OAuth together. */
const MAX_USER_CLIENTS = 512
const USER_IDLE_MS = 600_000

/** A server with its tools, by their names for clients. */
export interface BookedServer {
  readonly server: ToolServer
  readonly tools: ReadonlyMap<string, ServerTool>
}

export interface ServerBookOptions {
  readonly database: Database
  readonly seal: Seal
  /** Servers of the configuration file. They come before those of admins with the same ids. */
  readonly configured: readonly ToolServer[]
  readonly transports: ConnectionParts
  readonly grants: Grants
  readonly onFault: (cause: unknown) => void
}

interface Client {
  readonly client: ServerClient
  /** The settings with which it was made. */
  readonly made: string
  /** The monotonic time of the last list of its tools; null: not yet, or they have changed since. */
  listedMs: number | null
  /** The list is noted, or, of the client of one user, handed out. */
  listing: Promise<readonly DigestedTool[]> | null
  /** Of the client of one user: the digests of the tools that the server shows to that user. */
  seen: ReadonlyMap<string, string>
  usedMs: number
  again: NodeJS.Timeout | null
}

/** The upstream servers, their tools, and the connections to them. */
export class ServerBook {
  readonly #options: ServerBookOptions
  readonly #clients = new Map<string, Client>()
  #servers: Promise<readonly BookedServer[]> | null = null
  #readMs = 0
  /** The servers that were read last; they are read again only when they have changed. */
  #last: { readonly version: string; readonly servers: readonly BookedServer[] } | null = null
  #isClosed = false

  constructor(options: ServerBookOptions) {
    this.#options = options
  }

  /** All servers, also those that are turned off, in a stable order. */
  servers(): Promise<readonly BookedServer[]> {
    const nowMs = performance.now()
    if (this.#servers === null || nowMs - this.#readMs > FRESH_MS) {
      this.#readMs = nowMs
      const read = this.#read()
      this.#servers = read
      read.catch(() => {
        if (this.#servers === read) this.#servers = null
      })
    }
    return this.#servers
  }

  /** Changes with each change of a server, or of what is known of its tools. */
  async version(): Promise<string> {
    await this.servers()
    return this.#last?.version ?? ''
  }

  /** Has the servers read again, because they have changed. */
  forget(): void {
    this.#servers = null
  }

  /** The client of a server with its present settings. @param userId the user, of a server with OAuth; otherwise null */
  clientOf(server: ToolServer, userId: string | null): ServerClient {
    return this.#entryOf(server, userId).client
  }

  /**
   * Lists the tools of a server as it has them from now on, and notes them. Those who ask at the same time share the answer. A server
   * with OAuth shows them to a user: this is for admins, because others may not be shown all.
   */
  async refresh(server: ToolServer, userId: string | null, signal: AbortSignal): Promise<void> {
    const { listing } = this.#entryOf(server, userId)
    // The server may have answered it before it changed.
    if (listing !== null) {
      await untilAborted(
        listing.catch(() => undefined),
        signal,
      )
    }
    const tools = await this.#listed(server, userId, signal)
    if (server.oauth !== null) await this.#note(server, tools)
  }

  /**
   * Lists the tools of a server if that was long ago, or if it said that they have changed. Returns the digests of those that it shows
   * to the user; null: they are the same for all, and noted.
   */
  async keepFresh(
    server: ToolServer,
    userId: string | null,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string> | null> {
    const { listedMs } = this.#entryOf(server, userId)
    const isFresh = listedMs !== null && performance.now() - listedMs < LIST_AGAIN_MS
    if (!isFresh) await this.#listed(server, userId, signal)
    return server.oauth === null ? null : this.#entryOf(server, userId).seen
  }

  /** Lists the tools of a server over a connection of its own, and notes nothing. Resolves to their number. */
  async test(server: ToolServer, userId: string | null, signal: AbortSignal): Promise<number> {
    const { transports: parts } = this.#options
    const client = new ServerClient(server, { parts, onChanged: () => undefined, user: this.#userOf(server, userId) })
    try {
      return (await client.listTools(AbortSignal.any([signal, AbortSignal.timeout(MAX_LIST_MS)]))).length
    } finally {
      await client.close()
    }
  }

  /** Ends the connection of a user. */
  async endOf(serverId: string, userId: string): Promise<void> {
    await this.#drop(keyOf(serverId, userId))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#clients.keys()].map((id) => this.#drop(id)))
  }

  async #read(): Promise<readonly BookedServer[]> {
    const { database } = this.#options
    if (this.#last?.version === (await toolServersVersion(database))) return this.#last.servers
    // The version is the same again when a change is undone: what was read beside another version would never be read again.
    const read = await database.transaction(async (tx) => {
      await tx.script('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY')
      return { version: await toolServersVersion(tx), servers: await this.#stored(tx) }
    })
    for (const [key, { client }] of [...this.#clients]) {
      const { id } = client.server
      if (read.servers.every(({ server }) => server.id !== id || !server.enabled)) void this.#drop(key)
    }
    this.#last = read
    return read.servers
  }

  async #stored(tx: Queryable): Promise<readonly BookedServer[]> {
    const { seal, configured } = this.#options
    const ids = new Set(configured.map(({ id }) => id))
    const stored = (await listToolServers(tx, seal)).filter(({ id }) => !ids.has(id))
    const servers = [...configured, ...stored]
    if (servers.length === 0) return []
    const tools = await listServerTools(
      tx,
      servers.map(({ id }) => id),
    )
    return servers.map((server) => ({ server, tools: named(server, tools) }))
  }

  #entryOf(server: ToolServer, userId: string | null): Client {
    if (this.#isClosed) throw new GatewayError('DRAINING', { retryAfterSeconds: 1 })
    const { id, place, headers, clientSecret, timeoutMs, source, oauth } = server
    // `headers` and `place` of the configuration do not show themselves in JSON.
    const shared = headers === null ? null : Object.entries(headers)
    const made = JSON.stringify([{ ...place }, shared, timeoutMs, source, oauth, clientSecret])
    const key = oauth === null ? id : keyOf(id, userId ?? '')
    const known = this.#clients.get(key)
    if (known?.made === made) {
      known.usedMs = performance.now()
      return known
    }
    if (known !== undefined) void this.#drop(key)
    if (oauth !== null) this.#makeRoom()
    const entry: Client = {
      made,
      client: new ServerClient(server, {
        parts: this.#options.transports,
        onChanged: () => {
          this.#onChanged(key, entry)
        },
        user: this.#userOf(server, userId),
      }),
      listedMs: null,
      listing: null,
      seen: new Map(),
      usedMs: performance.now(),
      again: null,
    }
    this.#clients.set(key, entry)
    return entry
  }

  #userOf(server: ToolServer, userId: string | null): UserToken | null {
    if (server.oauth === null) return null
    const { grants } = this.#options
    if (userId === null) throw grants.needed(server)
    return grants.tokenOf(server, userId)
  }

  /** Ends connections of users that nobody has used for long, and the oldest idle one of too many. Throws CONCURRENCY_EXCEEDED. */
  #makeRoom(): void {
    const idle = [...this.#clients]
      .filter(([, { client }]) => client.server.oauth !== null && !client.isBusy)
      .sort(([, a], [, b]) => a.usedMs - b.usedMs)
    const beforeMs = performance.now() - USER_IDLE_MS
    const old = idle.filter(([, { usedMs }]) => usedMs < beforeMs)
    for (const [key] of old) void this.#drop(key)
    if (this.#clients.size < MAX_USER_CLIENTS) return
    const next = idle[old.length]
    if (next === undefined) {
      const message = 'Too many users call tool servers at the moment.'
      throw new GatewayError('CONCURRENCY_EXCEEDED', { message, retryAfterSeconds: 5 })
    }
    void this.#drop(next[0])
  }

  async #drop(key: string): Promise<void> {
    const entry = this.#clients.get(key)
    if (entry === undefined) return
    this.#clients.delete(key)
    if (entry.again !== null) clearTimeout(entry.again)
    await entry.client.close()
  }

  #listed(server: ToolServer, userId: string | null, signal: AbortSignal): Promise<readonly DigestedTool[]> {
    const entry = this.#entryOf(server, userId)
    entry.listing ??= this.#list(entry, server, AbortSignal.timeout(MAX_LIST_MS)).finally(() => {
      entry.listing = null
    })
    return untilAborted(entry.listing, signal)
  }

  async #list(entry: Client, server: ToolServer, signal: AbortSignal): Promise<readonly DigestedTool[]> {
    const startMs = performance.now()
    const tools = await entry.client.listTools(signal).catch((cause: unknown) => {
      const message = 'The tool server did not list its tools in time.'
      throw signal.aborted ? new GatewayError('UPSTREAM_TIMEOUT', { message }) : cause
    })
    if (server.oauth === null) await this.#note(server, tools)
    else entry.seen = new Map(tools.map(({ definition, digest }) => [definition.name, digest]))
    entry.listedMs = startMs
    return tools
  }

  async #note({ id, allowAllTools }: ToolServer, tools: readonly DigestedTool[]): Promise<void> {
    await noteSeenTools(this.#options.database, id, tools, allowAllTools)
    this.forget()
  }

  /** A server may say so as often as it likes. */
  #onChanged(key: string, entry: Client): void {
    entry.listedMs = null
    const { server } = entry.client
    // The list of one user is read before the next call.
    if (entry.again !== null || server.oauth !== null) return
    entry.again = setTimeout(() => {
      entry.again = null
      if (this.#clients.get(key) !== entry) return
      // The next call lists them again, or says why that fails.
      this.refresh(server, null, new AbortController().signal).catch(() => undefined)
    }, AFTER_NEWS_MS).unref()
  }
}

/** Ids of servers have no space. */
function keyOf(serverId: string, userId: string): string {
  return `${serverId} ${userId}`
}

function named(server: ToolServer, tools: readonly ServerTool[]): ReadonlyMap<string, ServerTool> {
  const own = tools.filter(({ serverId }) => serverId === server.id)
  const names = toolNames(
    server.id,
    own.filter((tool) => stateOfTool(tool) !== 'gone').map(({ name }) => name),
  )
  return new Map(own.flatMap((tool) => (names.has(tool.name) ? [[names.get(tool.name) ?? '', tool] as const] : [])))
}
