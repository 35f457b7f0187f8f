import { randomUUID } from 'node:crypto'
import {
  createMcpHandler,
  DEFAULT_NEGOTIATED_PROTOCOL_VERSION,
  isInitializeRequest,
  isJSONRPCResponse,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import type { AuthInfo, ClientCapabilities, McpHttpHandler, Server } from '@modelcontextprotocol/server'
import type { ManagementRequest, ManagementResponse } from '../management/web.ts'
import type { McpCaller } from './callers.ts'
import { EventBytes, EventLog } from './event-log.ts'
import { MAX_BATCH, parseMessage } from './messages.ts'
import { ListenBus } from './listen-bus.ts'
import { boundedEvents } from './outgoing-stream.ts'
import { createProtocolServer } from './protocol-server.ts'
import type { ProtocolServerParts } from './protocol-server.ts'
import { QuestionIds } from './question-ids.ts'
import { cancelledBy } from './session-notices.ts'
import type { SessionNotices } from './session-notices.ts'
import type { SessionIds } from './session-ids.ts'
import type { McpSession, McpSessions } from './sessions.ts'

/** Events that all sessions together keep for clients that come back. */
const MAX_EVENT_BYTES = 128 * 1024 * 1024
/** JSON-RPC codes for errors of the server, as the SDK uses them. */
const SESSION_NOT_FOUND = -32_001
const REFUSED = -32_000
const PARSE_ERROR = -32_700
const CANCELLED = -32_000

const SESSION_HEADER = 'mcp-session-id'

export interface StreamableHttpOptions {
  readonly parts: ProtocolServerParts
  readonly sessions: McpSessions
  readonly ids: SessionIds
  /** Null: there is one machine. */
  readonly notices: SessionNotices | null
}

interface StreamableSession extends McpSession {
  readonly transport: WebStandardStreamableHTTPServerTransport
  readonly questions: QuestionIds
}

/** `/mcp`: Streamable HTTP, with sessions for revisions with a handshake, and without for revision 2026-07-28. */
export class StreamableHttp {
  readonly #parts: ProtocolServerParts
  readonly #sessions: McpSessions
  readonly #eventBytes = new EventBytes(MAX_EVENT_BYTES)
  readonly #bus = new ListenBus()
  readonly #stateless: McpHttpHandler
  readonly #ids: SessionIds
  readonly #notices: SessionNotices | null
  /** Sessions that are being begun again, by id. */
  readonly #resuming = new Map<string, Promise<void>>()

  constructor({ parts, sessions, ids, notices }: StreamableHttpOptions) {
    this.#parts = parts
    this.#sessions = sessions
    this.#ids = ids
    this.#notices = notices
    this.#stateless = createMcpHandler(() => createProtocolServer(parts), { legacy: 'reject', bus: this.#bus })
  }

  async serve(request: ManagementRequest, caller: McpCaller): Promise<ManagementResponse> {
    const message = request.method === 'POST' ? parsed(request) : undefined
    if (message instanceof Response) return plain(message, request)
    const web = webRequestOf(request)
    if (!(await isLegacyRequest(web, message))) {
      this.#sessions.reserve(caller.subject)
      const options = { authInfo: authInfoOf(caller), parsedBody: message }
      const serving = this.#bus.serve(request.requestId, () => this.#stateless.fetch(web, options))
      return this.#held(await serving, request, caller)
    }
    const isBatch = Array.isArray(message)
    if (isBatch && message.length > MAX_BATCH) {
      return plain(rpcError(400, REFUSED, `A batch has at most ${MAX_BATCH} messages.`), request)
    }
    const isBeginning = isBatch ? message.some(isInitializeRequest) : isInitializeRequest(message)
    return isBeginning ? this.#begin(request, web, message, caller) : this.#continue(request, web, message, caller)
  }

  close(): void {
    this.#stateless.close().catch(this.#parts.onFault)
  }

  async #begin(
    request: ManagementRequest,
    web: Request,
    message: unknown,
    caller: McpCaller,
  ): Promise<ManagementResponse> {
    this.#sessions.reserve(caller.subject)
    const session = await this.#create(this.#ids.issue(caller.subject, capabilitiesIn(message)), caller)
    const response = await session.transport.handleRequest(web, handlingOf(caller, message))
    if (response.status < 400) this.#sessions.add(session)
    else session.close()
    return this.#answered(response, request, session)
  }

  async #continue(
    request: ManagementRequest,
    web: Request,
    message: unknown,
    caller: McpCaller,
  ): Promise<ManagementResponse> {
    const id = request.headers[SESSION_HEADER]
    if (id === undefined) {
      return plain(rpcError(400, REFUSED, 'Bad Request: Mcp-Session-Id header is required'), request)
    }
    const session = this.#sessions.use(id, caller) ?? (await this.#resumed(id, request, caller))
    if (session === undefined || !isStreamable(session)) {
      // Clients begin a new session then.
      return plain(rpcError(404, SESSION_NOT_FOUND, 'Session not found'), request)
    }
    // Another machine may have the call, or the question that is answered.
    for (const requestId of cancelledBy(message)) this.#notices?.cancelled(id, requestId)
    for (const answer of session.questions.foreignIn(message)) void this.#notices?.deliver(id, caller.subject, answer)
    return this.#answered(await session.transport.handleRequest(web, handlingOf(caller, message)), request, session)
  }

  /**
   * Begins a session again that its client has, and this process has not: it was idle for long, another machine began it, or the
   * control process is a new one. Undefined: the id is of no session of this caller.
   */
  async #resumed(id: string, request: ManagementRequest, caller: McpCaller): Promise<McpSession | undefined> {
    const capabilities = this.#ids.capabilitiesOf(id, caller.subject)
    if (capabilities === null) return undefined
    const resuming = this.#resuming.get(id) ?? this.#resume({ id, capabilities }, request, caller)
    this.#resuming.set(id, resuming)
    try {
      await resuming
    } finally {
      this.#resuming.delete(id)
    }
    return this.#sessions.use(id, caller)
  }

  async #resume(
    { id, capabilities }: { readonly id: string; readonly capabilities: ClientCapabilities },
    { headers }: ManagementRequest,
    caller: McpCaller,
  ): Promise<void> {
    this.#sessions.reserve(caller.subject)
    const session = await this.#create(id, caller)
    // Revisions before 2025-06-18 do not name themselves in each message; they differ in nothing that matters here.
    const protocolVersion = headers['mcp-protocol-version'] ?? DEFAULT_NEGOTIATED_PROTOCOL_VERSION
    const clientInfo = { name: 'resumed', version: '1' }
    const params = { protocolVersion, capabilities, clientInfo }
    const message = { jsonrpc: '2.0', id: 0, method: 'initialize', params }
    const accept = 'application/json, text/event-stream'
    const fields = { accept, 'content-type': 'application/json' }
    const web = new Request('http://gateway/mcp', { method: 'POST', headers: fields })
    await (await session.transport.handleRequest(web, handlingOf(caller, message))).text()
    this.#sessions.add(session)
  }

  async #create(id: string, caller: McpCaller): Promise<StreamableSession> {
    const events = new EventLog(this.#eventBytes)
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      eventStore: events,
      onsessionclosed: () => {
        this.#ids.end(id)
        this.#notices?.ended(id)
        this.#sessions.remove(session)
      },
    })
    let isClosed = false
    const server: Server = createProtocolServer(this.#parts, {
      onCancelled: (requestId) => {
        if (isClosed) return
        // The SDK sends nothing for a cancelled request, and would leave its stream open.
        const error = { code: CANCELLED, message: 'The request was cancelled.' }
        transport.send({ jsonrpc: '2.0', id: requestId, error }).catch(this.#parts.onFault)
      },
    })
    const session: StreamableSession = {
      id,
      subject: caller.subject,
      caller,
      lastUsedMs: performance.now(),
      streams: 0,
      listening: 0,
      isUntold: false,
      transport,
      questions: new QuestionIds(),
      sweep: (nowMs) => {
        events.sweep(nowMs)
      },
      receive: (received) => {
        // A request needs the HTTP answer that the other machine has.
        if (cancelledBy(received).length === 0 && !isJSONRPCResponse(received)) return
        transport.onmessage?.(received, { authInfo: authInfoOf(session.caller) })
      },
      tellOfTools: () => {
        if (!isClosed) server.sendToolListChanged().catch(this.#parts.onFault)
      },
      close: () => {
        if (isClosed) return
        isClosed = true
        events.clear()
        server.close().catch(this.#parts.onFault)
      },
    }
    await server.connect(transport)
    separateQuestions(session)
    return session
  }

  #answered(
    response: Response,
    request: ManagementRequest,
    session: McpSession,
  ): Promise<ManagementResponse> | ManagementResponse {
    const body = eventsOf(response)
    if (body === null) return plain(response, request)
    const listens = request.method === 'GET' ? 1 : 0
    session.streams += 1
    session.listening += listens
    const stream = boundedEvents(body, request.signal, () => {
      session.streams -= 1
      session.listening -= listens
      session.lastUsedMs = performance.now()
    })
    return { status: response.status, headers: headersOf(response, request), body: stream }
  }

  /** A stream without a session counts as one, and ends with the credential of its caller. */
  #held(
    response: Response,
    request: ManagementRequest,
    caller: McpCaller,
  ): Promise<ManagementResponse> | ManagementResponse {
    const body = eventsOf(response)
    if (body === null) return plain(response, request)
    const session: McpSession = {
      id: randomUUID(),
      subject: caller.subject,
      caller,
      lastUsedMs: performance.now(),
      streams: 1,
      listening: 1,
      isUntold: false,
      sweep: () => undefined,
      receive: () => undefined,
      tellOfTools: () => {
        this.#bus.tell(request.requestId)
      },
      close: () => {
        stream.end()
      },
    }
    const stream = boundedEvents(body, request.signal, () => {
      this.#sessions.remove(session)
    })
    if (!stream.isOver) this.#sessions.add(session)
    return { status: response.status, headers: headersOf(response, request), body: stream }
  }
}

/** Keeps the questions of this process apart from those of others. The transport is connected. */
function separateQuestions({ transport, questions }: StreamableSession): void {
  const { onmessage } = transport
  const sendPlain = transport.send.bind(transport)
  const send: typeof transport.send = (message, options) => sendPlain(questions.outgoing(message), options)
  const receive: typeof transport.onmessage = (message, extra) => {
    const own = questions.incoming(message)
    if (own !== null) onmessage?.(own, extra)
  }
  transport.send = send
  transport.onmessage = receive
}

/** The capabilities that a client names in its handshake. */
function capabilitiesIn(message: unknown): ClientCapabilities {
  return [message].flat().find(isInitializeRequest)?.params.capabilities ?? {}
}

/** The body of an answer that is a stream of events; null: it is none. */
function eventsOf({ body, headers }: Response): ReadableStream<Uint8Array> | null {
  return (headers.get('content-type') ?? '').startsWith('text/event-stream') ? body : null
}

function isStreamable(session: McpSession): session is StreamableSession {
  return 'transport' in session && session.transport instanceof WebStandardStreamableHTTPServerTransport
}

/** A message, or the answer that refuses it in the form of the protocol. */
function parsed({ body }: ManagementRequest): unknown {
  try {
    return parseMessage(body)
  } catch (cause) {
    return rpcError(400, PARSE_ERROR, `Parse error: ${(cause as Error).message}`)
  }
}

function webRequestOf({ method, path, headers, signal }: ManagementRequest): Request {
  const fields = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as [string, string]],
  )
  return new Request(new URL(`http://gateway${path}`), { method, headers: fields, signal })
}

function handlingOf(caller: McpCaller, message: unknown): { authInfo: AuthInfo; parsedBody?: unknown } {
  return { authInfo: authInfoOf(caller), ...(message === undefined ? {} : { parsedBody: message }) }
}

/** The SDK hands this to the handlers of each message. It has no secret. */
export function authInfoOf(caller: McpCaller): AuthInfo {
  return { token: '', clientId: caller.subject, scopes: [], extra: { caller } }
}

function rpcError(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status })
}

async function plain(response: Response, request: ManagementRequest): Promise<ManagementResponse> {
  const body = Buffer.from(await response.arrayBuffer())
  return { status: response.status, headers: headersOf(response, request), body }
}

function headersOf(response: Response, { requestId }: ManagementRequest): ReadonlyArray<readonly [string, string]> {
  // The server of the front frames the answer itself.
  const own = [...response.headers].filter(([name]) => name !== 'connection' && name !== 'content-length')
  const cached = response.headers.has('cache-control') ? [] : [['Cache-Control', 'no-store'] as const]
  return [...own, ...cached, ['X-Request-Id', requestId]]
}
