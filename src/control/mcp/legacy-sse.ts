import { randomBytes } from 'node:crypto'
import { JSONRPC_VERSION, parseJSONRPCMessage } from '@modelcontextprotocol/server'
import { GatewayError } from '../../shared/core/errors.ts'
import type { ManagementRequest, ManagementResponse } from '../management/web.ts'
import type { McpCaller } from './callers.ts'
import { parseMessage } from './messages.ts'
import { createProtocolServer } from './protocol-server.ts'
import type { ProtocolServerParts } from './protocol-server.ts'
import type { SessionNotices } from './session-notices.ts'
import type { McpSession, McpSessions } from './sessions.ts'
import { SseTransport } from './sse-transport.ts'
import { authInfoOf } from './streamable-http.ts'

interface SseSession extends McpSession {
  readonly sse: SseTransport
}

const PATH = '/mcp/messages'

/** `/mcp/sse` and `/mcp/messages`: the HTTP+SSE transport of revision 2024-11-05. */
export class LegacySse {
  readonly #parts: ProtocolServerParts
  readonly #sessions: McpSessions
  /** Null: there is one machine. */
  readonly #notices: SessionNotices | null

  constructor(parts: ProtocolServerParts, sessions: McpSessions, notices: SessionNotices | null) {
    this.#parts = parts
    this.#sessions = sessions
    this.#notices = notices
  }

  /** Begins a session. Its stream is the answer. */
  async open({ signal, requestId, headers }: ManagementRequest, caller: McpCaller): Promise<ManagementResponse> {
    this.#sessions.reserve(caller.subject)
    const id = randomBytes(24).toString('base64url')
    const sse = new SseTransport(id, `${prefixOf(headers)}${PATH}?sessionId=${id}`, this.#parts.onFault)
    const server = createProtocolServer(this.#parts)
    const session: SseSession = {
      id,
      subject: caller.subject,
      caller,
      lastUsedMs: performance.now(),
      streams: 1,
      listening: 1,
      isUntold: false,
      sse,
      sweep: () => undefined,
      receive: (message) => {
        sse.onmessage?.(message, { authInfo: authInfoOf(session.caller) })
      },
      tellOfTools: () => {
        server.sendToolListChanged().catch(this.#parts.onFault)
      },
      close: () => {
        server.close().catch(this.#parts.onFault)
      },
    }
    await server.connect(sse)
    const end = (): void => {
      this.#sessions.remove(session)
    }
    server.onclose = end
    this.#sessions.add(session)
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
    return {
      status: 200,
      headers: [
        ['Content-Type', 'text/event-stream'],
        ['Cache-Control', 'no-cache, no-transform'],
        ['X-Accel-Buffering', 'no'],
        ['X-Request-Id', requestId],
      ],
      body: sse.stream,
    }
  }

  /** Takes a message of the client; the answer to it goes to the stream. */
  async post(request: ManagementRequest, caller: McpCaller): Promise<ManagementResponse> {
    const id = new URLSearchParams(request.query).get('sessionId')
    if (id === null) {
      throw new GatewayError('INVALID_FIELD', { param: '/sessionId', message: 'sessionId is missing.' })
    }
    const session = this.#sessions.use(id, caller)
    const isHere = session !== undefined && isSse(session)
    const message = isHere || this.#notices !== null ? wellFormed(parseMessage(request.body)) : null
    if (isHere && message !== null) session.receive(message)
    else if (message === null || (await this.#notices?.deliver(id, caller.subject, message)) !== true) {
      throw new GatewayError('NOT_FOUND', { message: 'There is no such session: connect to /mcp/sse again.' })
    }
    return {
      status: 202,
      headers: [
        ['Content-Type', 'text/plain'],
        ['X-Request-Id', request.requestId],
      ],
      body: Buffer.from('Accepted'),
    }
  }
}

function isSse(session: McpSession): session is SseSession {
  return 'sse' in session
}

function wellFormed(value: unknown): ReturnType<typeof parseJSONRPCMessage> {
  try {
    return parseJSONRPCMessage(value)
  } catch {
    throw new GatewayError('INVALID_FIELD', { message: `The body must be one message of JSON-RPC ${JSONRPC_VERSION}.` })
  }
}

/** The path under which a proxy has the gateway. */
function prefixOf(headers: Readonly<Record<string, string | undefined>>): string {
  const prefix = headers['x-forwarded-prefix'] ?? ''
  return /^(\/[A-Za-z0-9._~-]+)*$/.test(prefix) ? prefix : ''
}
