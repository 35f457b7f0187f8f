import type { LookupFunction } from 'node:net'
import type { DeadlineClock } from '../../../shared/runtime/deadlines.ts'
import { Deadline } from '../../../shared/runtime/deadlines.ts'
import type { Connect } from '../connector.ts'
import { Connection } from './connection.ts'
import type { ConnectionOptions } from './connection.ts'

export interface ConnectionPoolOptions {
  readonly origin: string
  readonly connect: Connect
  readonly lookup: LookupFunction
  readonly deadlines: DeadlineClock
  /** Whether one more connection may be opened. */
  readonly mayOpen: () => boolean
  /** Called for each connection that is opened (1) or closed (-1). */
  readonly onChange: (change: number) => void
}

/** Servers close idle connections after a minute, many sooner. Closing first avoids sending on a connection that is just closing. */
const IDLE_MS = 30_000

/** The connections to one origin. The pool reuses the most recent idle one first, so that surplus ones expire. */
export class ConnectionPool {
  readonly #options: ConnectionPoolOptions
  /** All connections share it: an object with functions of its own for each would take half a kilobyte. */
  readonly #ofConnections: ConnectionOptions
  readonly #all = new Set<Connection>()
  #idle: Connection[] = []
  readonly #expiries = new Map<Connection, Deadline>()

  constructor(options: ConnectionPoolOptions) {
    this.#options = options
    const { protocol, hostname, port } = new URL(options.origin)
    const isTls = protocol === 'https:'
    this.#ofConnections = {
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? (isTls ? 443 : 80) : Number(port),
      isTls,
      connect: options.connect,
      lookup: options.lookup,
      onIdle: (idle) => {
        this.#free(idle)
      },
      onClosed: (closed) => {
        this.#forget(closed)
      },
    }
  }

  /** An idle or a new connection; null when none may be opened. @param isFresh prefers a new one, if it may be opened */
  take({ isFresh }: { readonly isFresh: boolean }): Connection | null {
    if (isFresh && this.#options.mayOpen()) return this.#open()
    const idle = this.#idle.pop()
    if (idle === undefined) return this.#options.mayOpen() ? this.#open() : null
    const expiry = this.#expiries.get(idle)
    if (expiry !== undefined) expiry.atMs = Infinity
    return idle
  }

  /** Closes the connection that has been idle for longest; false when there is none. */
  closeIdle(): boolean {
    const [oldest] = this.#idle
    oldest?.destroy()
    return oldest !== undefined
  }

  close(): void {
    for (const connection of [...this.#all]) connection.destroy()
  }

  #open(): Connection {
    const connection = new Connection(this.#ofConnections)
    this.#all.add(connection)
    this.#options.onChange(1)
    return connection
  }

  #free(connection: Connection): void {
    this.#idle.push(connection)
    let expiry = this.#expiries.get(connection)
    if (expiry === undefined) {
      expiry = new Deadline(() => {
        connection.destroy()
      })
      this.#expiries.set(connection, expiry)
    }
    const { deadlines } = this.#options
    expiry.atMs = deadlines.nowMs + IDLE_MS
    deadlines.watch(expiry)
  }

  #forget(connection: Connection): void {
    if (this.#all.delete(connection)) this.#options.onChange(-1)
    const expiry = this.#expiries.get(connection)
    if (expiry !== undefined) this.#options.deadlines.forget(expiry)
    this.#expiries.delete(connection)
    const at = this.#idle.indexOf(connection)
    if (at !== -1) this.#idle.splice(at, 1)
  }
}
