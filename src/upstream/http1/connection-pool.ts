import type { LookupFunction } from 'node:net'
import type { DeadlineClock } from '../../core/deadlines.ts'
import { Deadline } from '../../core/deadlines.ts'
import { Connection } from './connection.ts'

export interface ConnectionPoolOptions {
  readonly origin: string
  readonly maxConnections: number
  readonly lookup: LookupFunction
  readonly deadlines: DeadlineClock
}

/** Somebody in need of a connection. */
export interface Applicant {
  serve(connection: Connection): void
}

/** Servers close idle connections after a minute, many sooner: who is first is spared the race. */
const IDLE_MS = 30_000

/** The connections to one origin. Idle ones are used again, the last one first, so that those not needed grow old and go. */
export class ConnectionPool {
  readonly #options: ConnectionPoolOptions
  readonly #target: { readonly host: string; readonly port: number; readonly isTls: boolean }
  readonly #all = new Set<Connection>()
  #idle: Connection[] = []
  readonly #expiries = new Map<Connection, Deadline>()
  readonly #waiting = new Set<Applicant>()

  constructor(options: ConnectionPoolOptions) {
    this.#options = options
    const { protocol, hostname, port } = new URL(options.origin)
    const isTls = protocol === 'https:'
    this.#target = {
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? (isTls ? 443 : 80) : Number(port),
      isTls,
    }
  }

  /** Serves at once where a connection is idle or may be opened, else when one becomes free. */
  request(applicant: Applicant, options: { readonly isFresh: boolean }): void {
    const mayOpen = this.#all.size < this.#options.maxConnections
    // Better an idle one than to wait while there are idle ones.
    const idle = options.isFresh && mayOpen ? undefined : this.#idle.pop()
    if (idle !== undefined) {
      this.#busy(idle)
      applicant.serve(idle)
    } else if (mayOpen) applicant.serve(this.#open())
    else this.#waiting.add(applicant)
  }

  withdraw(applicant: Applicant): void {
    this.#waiting.delete(applicant)
  }

  close(): void {
    this.#waiting.clear()
    for (const connection of [...this.#all]) connection.destroy()
  }

  #open(): Connection {
    const connection = new Connection({
      ...this.#target,
      lookup: this.#options.lookup,
      onIdle: (idle) => {
        this.#free(idle)
      },
      onClosed: (closed) => {
        this.#forget(closed)
      },
    })
    this.#all.add(connection)
    return connection
  }

  #free(connection: Connection): void {
    const next = this.#next()
    if (next !== undefined) {
      next.serve(connection)
      return
    }
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

  #busy(connection: Connection): void {
    const expiry = this.#expiries.get(connection)
    if (expiry !== undefined) expiry.atMs = Infinity
  }

  #forget(connection: Connection): void {
    this.#all.delete(connection)
    const expiry = this.#expiries.get(connection)
    if (expiry !== undefined) this.#options.deadlines.forget(expiry)
    this.#expiries.delete(connection)
    const at = this.#idle.indexOf(connection)
    if (at !== -1) this.#idle.splice(at, 1)
    const next = this.#next()
    if (next !== undefined) next.serve(this.#open())
  }

  #next(): Applicant | undefined {
    const [next] = this.#waiting
    if (next !== undefined) this.#waiting.delete(next)
    return next
  }
}
