import { GatewayError } from '../../../shared/core/errors.ts'
import { stateOfTool } from '../../../shared/core/tool-server.ts'
import type { ServerTool, ToolServer } from '../../../shared/core/tool-server.ts'
import type { Seal } from '../../../shared/runtime/seal.ts'
import type { Database } from '../../store/database.ts'
import { listServerTools, listToolServers, noteSeenTools, toolServersVersion } from '../../store/tool-servers.ts'
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
  readonly onFault: (cause: unknown) => void
}

interface Client {
  readonly client: ServerClient
  /** The settings with which it was made. */
  readonly made: string
  /** The monotonic time of the last list of its tools; null: not yet, or they have changed since. */
  listedMs: number | null
  listing: Promise<void> | null
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

  /** Has the servers read again, because they have changed. */
  forget(): void {
    this.#servers = null
  }

  /** The client of a server with its present settings. */
  clientOf(server: ToolServer): ServerClient {
    return this.#entryOf(server).client
  }

  /** Lists the tools of a server, and notes them. Those who ask at the same time share the answer. */
  refresh(server: ToolServer, signal: AbortSignal): Promise<void> {
    const entry = this.#entryOf(server)
    entry.listing ??= this.#list(entry, server, AbortSignal.timeout(MAX_LIST_MS)).finally(() => {
      entry.listing = null
    })
    return untilAborted(entry.listing, signal)
  }

  /** Lists the tools of a server if that was long ago, or if it said that they have changed. */
  async keepFresh(server: ToolServer, signal: AbortSignal): Promise<void> {
    const { listedMs } = this.#entryOf(server)
    if (listedMs !== null && performance.now() - listedMs < LIST_AGAIN_MS) return
    await this.refresh(server, signal)
  }

  /** Lists the tools of a server over a connection of its own, and notes nothing. Resolves to their number. */
  async test(server: ToolServer, signal: AbortSignal): Promise<number> {
    const client = new ServerClient(server, { parts: this.#options.transports, onChanged: () => undefined })
    try {
      return (await client.listTools(AbortSignal.any([signal, AbortSignal.timeout(MAX_LIST_MS)]))).length
    } finally {
      await client.close()
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#clients.keys()].map((id) => this.#drop(id)))
  }

  async #read(): Promise<readonly BookedServer[]> {
    const { database, seal, configured } = this.#options
    const version = await toolServersVersion(database)
    if (this.#last?.version === version) return this.#last.servers
    const ids = new Set(configured.map(({ id }) => id))
    const stored = (await listToolServers(database, seal)).filter(({ id }) => !ids.has(id))
    const servers = [...configured, ...stored]
    const tools =
      servers.length === 0
        ? []
        : await listServerTools(
            database,
            servers.map(({ id }) => id),
          )
    for (const id of [...this.#clients.keys()]) {
      if (servers.every((server) => server.id !== id || !server.enabled)) void this.#drop(id)
    }
    const booked = servers.map((server) => ({ server, tools: named(server, tools) }))
    this.#last = { version, servers: booked }
    return booked
  }

  #entryOf(server: ToolServer): Client {
    if (this.#isClosed) throw new GatewayError('DRAINING', { retryAfterSeconds: 1 })
    const { id, place, headers, timeoutMs, source } = server
    // `headers` and `place` of the configuration do not show themselves in JSON.
    const made = JSON.stringify([{ ...place }, headers === null ? null : Object.entries(headers), timeoutMs, source])
    const known = this.#clients.get(id)
    if (known?.made === made) return known
    if (known !== undefined) void this.#drop(id)
    const entry: Client = {
      made,
      client: new ServerClient(server, {
        parts: this.#options.transports,
        onChanged: () => {
          this.#onChanged(entry)
        },
      }),
      listedMs: null,
      listing: null,
      again: null,
    }
    this.#clients.set(id, entry)
    return entry
  }

  async #drop(id: string): Promise<void> {
    const entry = this.#clients.get(id)
    if (entry === undefined) return
    this.#clients.delete(id)
    if (entry.again !== null) clearTimeout(entry.again)
    await entry.client.close()
  }

  async #list(entry: Client, { id, allowAllTools }: ToolServer, signal: AbortSignal): Promise<void> {
    const startMs = performance.now()
    const tools = await entry.client.listTools(signal).catch((cause: unknown) => {
      const message = 'The tool server did not list its tools in time.'
      throw signal.aborted ? new GatewayError('UPSTREAM_TIMEOUT', { message }) : cause
    })
    await noteSeenTools(this.#options.database, id, tools, allowAllTools)
    entry.listedMs = startMs
    this.forget()
  }

  /** A server may say so as often as it likes. */
  #onChanged(entry: Client): void {
    entry.listedMs = null
    if (entry.again !== null) return
    entry.again = setTimeout(() => {
      entry.again = null
      if (this.#clients.get(entry.client.server.id) !== entry) return
      // The next call lists them again, or says why that fails.
      this.refresh(entry.client.server, new AbortController().signal).catch(() => undefined)
    }, AFTER_NEWS_MS).unref()
  }
}

function named(server: ToolServer, tools: readonly ServerTool[]): ReadonlyMap<string, ServerTool> {
  const own = tools.filter(({ serverId }) => serverId === server.id)
  const names = toolNames(
    server.id,
    own.filter((tool) => stateOfTool(tool) !== 'gone').map(({ name }) => name),
  )
  return new Map(own.flatMap((tool) => (names.has(tool.name) ? [[names.get(tool.name) ?? '', tool] as const] : [])))
}
