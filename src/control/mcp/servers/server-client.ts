import type { CallToolResult } from '@modelcontextprotocol/client'
import { GatewayError } from '../../../shared/core/errors.ts'
import type { ToolDefinition, ToolServer } from '../../../shared/core/tool-server.ts'
import type { DigestedTool } from '../../store/tool-servers.ts'
import type { ToolClient } from '../tool-source.ts'
import { Breaker } from './breaker.ts'
import type { CallOptions, ServerConnection } from './connection.ts'
import type { UserToken } from './user-token.ts'
import { openConnection } from './open-connection.ts'
import type { ConnectionParts } from './open-connection.ts'
import { isLostSession, isServerFailure, serverError } from './server-errors.ts'
import { untilAborted } from './until-aborted.ts'

export interface ServerClientOptions {
  readonly parts: ConnectionParts
  /** The server says that its tools have changed. */
  readonly onChanged: () => void
  /** The user whose client it is; null: it is everybody's. */
  readonly user: UserToken | null
}

/** Calls a server over one connection, which is opened when it is needed. Its errors are GatewayErrors. */
export class ServerClient {
  readonly server: ToolServer
  readonly #options: ServerClientOptions
  readonly #breaker = new Breaker()
  readonly #ends = new AbortController()
  #connection: Promise<ServerConnection> | null = null
  #running = 0

  constructor(server: ToolServer, options: ServerClientOptions) {
    this.server = server
    this.#options = options
  }

  /** Whether calls are under way. */
  get isBusy(): boolean {
    return this.#running > 0
  }

  listTools(signal: AbortSignal): Promise<DigestedTool[]> {
    return this.#guarded(signal, (connection, until) => connection.listTools(until))
  }

  callTool(
    tool: ToolDefinition,
    input: Readonly<Record<string, unknown>>,
    options: CallOptions,
  ): Promise<CallToolResult> {
    const { asks } = options
    const call = (connection: ServerConnection, signal: AbortSignal): Promise<CallToolResult> =>
      connection.call(tool, input, { ...options, signal })
    return asks === null ? this.#guarded(options.signal, call) : this.#apart(asks, options.signal, call)
  }

  async close(): Promise<void> {
    this.#ends.abort(new GatewayError('UPSTREAM_UNREACHABLE', { message: 'The tool server was changed or removed.' }))
    const open = this.#connection
    this.#connection = null
    await open?.then(
      (connection) => connection.close(),
      () => undefined,
    )
  }

  #guarded<Result>(
    signal: AbortSignal,
    work: (connection: ServerConnection, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    return this.#watched(signal, (until) => this.#onConnection(until, work))
  }

  /** Works on a connection of its own: a server does not say for which of several calls it asks. */
  #apart<Result>(
    asks: ToolClient,
    signal: AbortSignal,
    work: (connection: ServerConnection, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    return this.#watched(signal, async (until) => {
      const { parts, onChanged, user } = this.#options
      const connection = await openConnection(this.server, parts, { onChanged, signal: until, asks, user })
      try {
        return await work(connection, until)
      } finally {
        void connection.close()
      }
    })
  }

  async #watched<Result>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    this.#breaker.enter(performance.now())
    const until = AbortSignal.any([signal, this.#ends.signal])
    const { user } = this.#options
    this.#running += 1
    try {
      const result = await work(until)
      this.#breaker.succeeded()
      return result
    } catch (cause) {
      if (this.#ends.signal.aborted) throw this.#ends.signal.reason
      const failure = serverError(cause, this.server, user?.given)
      // A token that was renewed just now is refused, too: another consent may help, and only that.
      if (user !== null && failure.code === 'UPSTREAM_AUTH') throw user.needed()
      if (isServerFailure(failure)) this.#breaker.failed(performance.now())
      else if (failure.code === 'UPSTREAM_INVALID_REQUEST') this.#breaker.succeeded()
      throw failure
    } finally {
      this.#running -= 1
    }
  }

  /** A server that has forgotten the session has not run the call: it gets it again over a new connection. */
  async #onConnection<Result>(
    signal: AbortSignal,
    work: (connection: ServerConnection, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const connection = await this.#open(signal)
    try {
      return await work(connection, signal)
    } catch (cause) {
      if (!isLostSession(cause)) throw cause
      void connection.close()
      return work(await this.#open(signal), signal)
    }
  }

  async #open(signal: AbortSignal): Promise<ServerConnection> {
    for (;;) {
      signal.throwIfAborted()
      const pending = this.#connection
      if (pending === null) break
      const known = await untilAborted(pending, signal)
      if (known.isUsable) return known
      if (this.#connection === pending) this.#connection = null
    }
    // Those who wait for the connection share it: it does not end with one of them.
    const { parts, onChanged, user } = this.#options
    const opening = openConnection(this.server, parts, { onChanged, signal: this.#ends.signal, user })
    this.#connection = opening
    opening.catch(() => {
      if (this.#connection === opening) this.#connection = null
    })
    return untilAborted(opening, signal)
  }
}
