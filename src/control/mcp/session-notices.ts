import { randomUUID } from 'node:crypto'
import { isJSONRPCNotification } from '@modelcontextprotocol/server'
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/server'
import type { RedisAddress } from '../../shared/config/shape.ts'
import { RedisConnection } from '../store/redis-connection.ts'
import { redisScript } from '../store/redis-script.ts'
import type { SessionIds } from './session-ids.ts'
import type { McpSessions } from './sessions.ts'

export interface SessionNoticesOptions {
  readonly redis: { readonly address: RedisAddress; readonly keyPrefix: string }
  readonly sessions: McpSessions
  readonly ids: SessionIds
  readonly onFault: (cause: unknown) => void
}

type Notice =
  | { readonly kind: 'cancelled'; readonly session: string; readonly requestId: RequestId }
  | { readonly kind: 'ended'; readonly session: string }
  | {
      readonly kind: 'message'
      readonly session: string
      readonly subject: string
      readonly message: JSONRPCMessage
      /** Names the answer `taken`. */
      readonly notice: string
    }
  | { readonly kind: 'taken'; readonly notice: string }

const CANCELLED = 'notifications/cancelled'
const PUBLISH = redisScript(`return redis.call('PUBLISH', ARGV[1], ARGV[2])`)
/** A larger message must reach the machine with the session by itself. */
const MAX_LENGTH = 256 * 1024
const TAKEN_WITHIN_MS = 1_000

/** Tells the tool servers of other machines, through Redis, what came here and is about sessions that they hold. */
export class SessionNotices {
  readonly #options: SessionNoticesOptions
  readonly #channel: string
  readonly #redis: RedisConnection
  readonly #own = randomUUID()
  /** Messages that no machine has taken yet, each for at most `TAKEN_WITHIN_MS`. */
  readonly #waiting = new Map<string, () => void>()

  constructor(options: SessionNoticesOptions) {
    const { redis } = options
    this.#options = options
    this.#channel = `${redis.keyPrefix}tool-sessions`
    this.#redis = new RedisConnection({
      address: redis.address,
      channels: [this.#channel],
      onMessage: (_, text) => {
        this.#heed(text)
      },
      // The lease authority, which has the same Redis, tells operators when it is away.
      onError: () => undefined,
    })
  }

  cancelled(session: string, requestId: RequestId): void {
    this.#publish({ kind: 'cancelled', session, requestId })
  }

  ended(session: string): void {
    this.#publish({ kind: 'ended', session })
  }

  /** Hands a message to the machine that holds the session. Resolves to false when none has taken it. */
  deliver(session: string, subject: string, message: JSONRPCMessage): Promise<boolean> {
    const notice = randomUUID()
    if (!this.#publish({ kind: 'message', session, subject, message, notice })) return Promise.resolve(false)
    return new Promise((resolve) => {
      const answer = (isTaken: boolean) => (): void => {
        clearTimeout(timer)
        this.#waiting.delete(notice)
        resolve(isTaken)
      }
      const timer = setTimeout(answer(false), TAKEN_WITHIN_MS)
      this.#waiting.set(notice, answer(true))
    })
  }

  close(): void {
    this.#redis.close()
  }

  #publish(notice: Notice): boolean {
    const text = JSON.stringify({ from: this.#own, ...notice })
    if (text.length > MAX_LENGTH) return false
    this.#redis.run([{ script: PUBLISH, keys: [], args: [this.#channel, text] }]).catch(this.#options.onFault)
    return true
  }

  #heed(text: string): void {
    try {
      const { from, ...notice } = JSON.parse(text) as Notice & { readonly from: string }
      if (from !== this.#own) this.#take(notice)
    } catch (cause) {
      this.#options.onFault(cause)
    }
  }

  #take(notice: Notice): void {
    const { sessions, ids } = this.#options
    if (notice.kind === 'taken') {
      this.#waiting.get(notice.notice)?.()
      return
    }
    if (notice.kind === 'ended') ids.end(notice.session)
    const session = sessions.held(notice.session)
    if (session === undefined) return
    switch (notice.kind) {
      case 'ended':
        sessions.remove(session)
        break
      case 'cancelled':
        session.receive({ jsonrpc: '2.0', method: CANCELLED, params: { requestId: notice.requestId } })
        break
      case 'message':
        if (session.subject !== notice.subject) return
        session.receive(notice.message)
        this.#publish({ kind: 'taken', notice: notice.notice })
    }
  }
}

/** The ids of the requests that the messages cancel. */
export function cancelledBy(messages: unknown): RequestId[] {
  return [messages].flat().flatMap((message) => {
    if (!isJSONRPCNotification(message) || message.method !== CANCELLED) return []
    const { requestId } = (message.params ?? {}) as { readonly requestId?: unknown }
    return typeof requestId === 'string' || typeof requestId === 'number' ? [requestId] : []
  })
}
