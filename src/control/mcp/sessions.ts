import type { JSONRPCMessage } from '@modelcontextprotocol/server'
import { GatewayError } from '../../shared/core/errors.ts'
import { repeat } from '../../shared/runtime/repeat.ts'
import type { McpCaller, McpCallers } from './callers.ts'

/** A session, as its table needs it: the transports differ. */
export interface McpSession {
  readonly id: string
  /** The user or key that began it. Nobody else reaches it. */
  readonly subject: string
  /** The caller of the newest message. */
  caller: McpCaller
  lastUsedMs: number
  /** Streams to the client that are open. */
  streams: number
  /** Those of them that carry messages which answer no request. */
  listening: number
  /** The tools that the client may use have changed, and it has not been told. */
  isUntold: boolean
  /** Drops what is kept for too long. */
  sweep(nowMs: number): void
  /** Takes a message of its client that came to another machine. */
  receive(message: JSONRPCMessage): void
  /** Tells the client that the tools that it may use have changed. It hears it on a stream of `listening`. */
  tellOfTools(): void
  /** Ends its streams and its calls. */
  close(): void
}

export interface McpSessionsOptions {
  readonly callers: McpCallers
  readonly max: number
  readonly onFault: (cause: unknown) => void
}

/** Sessions of one user or key. */
const MAX_OF_SUBJECT = 64
const IDLE_MS = 1_800_000
const CHECK_EVERY_MS = 1_000

/** The sessions that this process holds. They are bounded, expire, and end with the credential of their caller. */
export class McpSessions {
  readonly #options: McpSessionsOptions
  readonly #sessions = new Map<string, McpSession>()
  readonly #timer: NodeJS.Timeout
  #isChecking = false

  constructor(options: McpSessionsOptions) {
    this.#options = options
    const check = (): void => {
      this.#check().catch(options.onFault)
    }
    this.#timer = repeat(CHECK_EVERY_MS, check, options.onFault).unref()
  }

  get size(): number {
    return this.#sessions.size
  }

  /** Makes room for a session. Throws CONCURRENCY_EXCEEDED when the subject, or all together, have too many that are in use. */
  reserve(subject: string): void {
    const own = [...this.#sessions.values()].filter((session) => session.subject === subject)
    if (own.length >= MAX_OF_SUBJECT) this.#evict(own, 'You have too many tool sessions. End some of them.')
    if (this.#sessions.size >= this.#options.max) {
      this.#evict([...this.#sessions.values()], 'The gateway has too many tool sessions at the moment.')
    }
  }

  add(session: McpSession): void {
    this.#sessions.set(session.id, session)
  }

  /** The session of the caller with this id; undefined: there is none, or it is somebody else's. */
  use(id: string, caller: McpCaller): McpSession | undefined {
    const session = this.#sessions.get(id)
    if (session?.subject !== caller.subject) return undefined
    session.caller = caller
    session.lastUsedMs = performance.now()
    return session
  }

  /** The session with this id, whoever has it. */
  held(id: string): McpSession | undefined {
    return this.#sessions.get(id)
  }

  all(): McpSession[] {
    return [...this.#sessions.values()]
  }

  remove(session: McpSession): void {
    if (!this.#sessions.delete(session.id)) return
    session.close()
  }

  close(): void {
    clearInterval(this.#timer)
    for (const session of [...this.#sessions.values()]) this.remove(session)
  }

  /** Ends the session among these that was not used for the longest time. */
  #evict(among: readonly McpSession[], message: string): void {
    const idle = among.filter(({ streams }) => streams === 0)
    const [oldest] = idle.sort((a, b) => a.lastUsedMs - b.lastUsedMs)
    if (oldest === undefined) throw new GatewayError('CONCURRENCY_EXCEEDED', { message, retryAfterSeconds: 5 })
    this.remove(oldest)
  }

  async #check(): Promise<void> {
    const nowMs = performance.now()
    for (const session of [...this.#sessions.values()]) {
      session.sweep(nowMs)
      if (session.streams === 0 && session.lastUsedMs < nowMs - IDLE_MS) this.remove(session)
    }
    if (this.#isChecking) return
    this.#isChecking = true
    try {
      await this.#endWithoutRights()
    } finally {
      this.#isChecking = false
    }
  }

  /** Sessions with a stream get no request in which the credential would be checked. */
  async #endWithoutRights(): Promise<void> {
    const streaming = [...this.#sessions.values()].filter(({ streams }) => streams > 0)
    if (streaming.length === 0) return
    const ended = await this.#options.callers.ended(
      streaming.map(({ caller }) => caller),
      Date.now(),
    )
    for (const session of streaming) if (ended.has(session.caller)) this.remove(session)
  }
}
