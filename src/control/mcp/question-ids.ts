import { randomBytes } from 'node:crypto'
import { isJSONRPCResponse } from '@modelcontextprotocol/server'
import type { JSONRPCMessage, JSONRPCResponse } from '@modelcontextprotocol/server'

const CANCELLED = 'notifications/cancelled'

/**
 * The ids of the requests that one process sends to the client of a session. The SDK counts them from 0 in each process: without a mark,
 * an answer could meet a question of another machine, or of the process after a restart.
 */
export class QuestionIds {
  readonly #mark = `${randomBytes(9).toString('base64url')}.`

  /** A message of the SDK as the client gets it. */
  outgoing(message: JSONRPCMessage): JSONRPCMessage {
    if (!('method' in message)) return message
    if ('id' in message) return { ...message, id: `${this.#mark}${message.id}` }
    if (message.method !== CANCELLED) return message
    return {
      ...message,
      params: { ...message.params, requestId: `${this.#mark}${String(message.params?.['requestId'])}` },
    }
  }

  /** A message of the client as the SDK knows it; null: it answers a question of another process. */
  incoming(message: JSONRPCMessage): JSONRPCMessage | null {
    if (!isJSONRPCResponse(message)) return message
    return this.#isOwn(message) ? { ...message, id: Number(String(message.id).slice(this.#mark.length)) } : null
  }

  /** The answers among messages of the client that are for other processes. */
  foreignIn(messages: unknown): JSONRPCResponse[] {
    return [messages]
      .flat()
      .filter(isJSONRPCResponse)
      .filter((answer) => !this.#isOwn(answer))
  }

  #isOwn({ id }: JSONRPCResponse): boolean {
    return String(id).startsWith(this.#mark)
  }
}
