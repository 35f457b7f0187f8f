import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { CallToolResult, CreateMessageResult, ElicitResult, Tool } from '@modelcontextprotocol/client'
import { GatewayError } from '../../../shared/core/errors.ts'
import type { ToolDefinition, ToolServer } from '../../../shared/core/tool-server.ts'
import type { DigestedTool } from '../../store/tool-servers.ts'
import { NO_VALIDATION } from '../no-validation.ts'
import type { Json, ToolClient } from '../tool-source.ts'
import type { UserToken } from './user-token.ts'
import { isTooLarge, serverError } from './server-errors.ts'
import { readTool } from './tool-definitions.ts'
import { transportTo } from './transports.ts'
import type { TransportParts } from './transports.ts'
import { untilAborted } from './until-aborted.ts'

const MAX_TOOLS = 1_000
const MAX_PAGES = 100
/** Of all pages together. */
const MAX_LIST_BYTES = 16 * 1024 * 1024
const MAX_CONNECT_MS = 15_000
/** A server has this long to end a session. */
const END_MS = 2_000

export interface CallOptions {
  readonly signal: AbortSignal
  readonly progress: ((done: number, message: string, total?: number) => void) | null
  /** Answers what the server asks during the call; null: it may ask nothing. */
  readonly asks: ToolClient | null
}

export interface OpenOptions {
  /** The server says that its tools have changed. */
  readonly onChanged: () => void
  readonly signal: AbortSignal
  /** Answers what the server asks; null: it may ask nothing. */
  readonly asks?: ToolClient | null
  /** The user whose connection it is; null: it is everybody's. */
  readonly user?: UserToken | null
}

/** The parts of a client of a server. */
export interface ServerConnection {
  /** False: it has ended, and another one must be opened. */
  readonly isUsable: boolean
  /** All tools of the server that are well-formed, the first of each name. */
  listTools(signal: AbortSignal): Promise<DigestedTool[]>
  call(tool: ToolDefinition, input: Readonly<Record<string, unknown>>, options: CallOptions): Promise<CallToolResult>
  /** It is not usable from now on. Resolves when the server has been told, or has not listened for some time. Never rejects. */
  close(): Promise<void>
}

/** A connection to a server, with the handshake done. It ends with the first thing that breaks its bounds. */
export class Connection implements ServerConnection {
  readonly #server: ToolServer
  readonly #client: Client
  readonly #broken = new AbortController()
  #isClosed = false

  private constructor(server: ToolServer, client: Client) {
    this.#server = server
    this.#client = client
  }

  /** Rejects with the errors of upstreams. */
  static async open(
    server: ToolServer,
    parts: TransportParts & { readonly version: string },
    { onChanged, signal, asks = null, user = null }: OpenOptions,
  ): Promise<Connection> {
    const client = clientOf(server, parts.version, { onChanged, asks })
    const connection = new Connection(server, client)
    const onTooLarge = (): void => {
      const message = 'A message of the tool server is too large: it ended all calls over its connection.'
      connection.#fail(new GatewayError('UPSTREAM_BODY_TOO_LARGE', { message }))
    }
    const transport = transportTo(server, parts, onTooLarge, user)
    const onClose = (): void => {
      connection.#fail(new GatewayError('UPSTREAM_TRUNCATED', { message: 'The tool server closed the connection.' }))
    }
    const onError = (error: Error): void => {
      if (isTooLarge(error)) onTooLarge()
      else if (error instanceof SyntaxError)
        connection.#fail(new GatewayError('UPSTREAM_INVALID_ANSWER', { cause: error }))
    }
    client.onclose = onClose
    client.onerror = onError
    try {
      await connection.#within(Math.min(server.timeoutMs, MAX_CONNECT_MS), signal, (options) =>
        client.connect(transport, options),
      )
    } catch (cause) {
      await connection.close()
      if (serverError(cause, server).code !== 'UPSTREAM_TIMEOUT') throw cause
      const message = 'The tool server did not answer the handshake in time.'
      throw new GatewayError('UPSTREAM_UNREACHABLE', { message })
    }
    return connection
  }

  get isUsable(): boolean {
    return !this.#isClosed && !this.#broken.signal.aborted
  }

  async listTools(signal: AbortSignal): Promise<DigestedTool[]> {
    const tools = new Map<string, DigestedTool>()
    if (this.#client.getServerCapabilities()?.tools === undefined) return []
    let bytes = 0
    let cursor: string | undefined
    for (let page = 1; ; page++) {
      if (page > MAX_PAGES) throw tooMuch(`more than ${MAX_PAGES} pages of tools`)
      const listed = await this.#within(this.#server.timeoutMs, signal, (options) =>
        this.#client.request({ method: 'tools/list', params: cursor === undefined ? {} : { cursor } }, options),
      )
      bytes += JSON.stringify(listed).length
      if (bytes > MAX_LIST_BYTES) throw tooMuch(`a list of tools of more than ${MAX_LIST_BYTES} bytes`)
      for (const given of listed.tools) {
        const tool = readTool(given)
        if (tool === null || tools.has(tool.definition.name)) continue
        if (tools.size >= MAX_TOOLS) throw tooMuch(`more than ${MAX_TOOLS} tools`)
        tools.set(tool.definition.name, tool)
      }
      const { nextCursor } = listed
      if (nextCursor === undefined || nextCursor === '') return [...tools.values()]
      if (nextCursor === cursor) throw tooMuch('the same page of tools again and again')
      cursor = nextCursor
    }
  }

  call(tool: ToolDefinition, input: Readonly<Record<string, unknown>>, options: CallOptions): Promise<CallToolResult> {
    const { progress, signal } = options
    return this.#within(this.#server.timeoutMs, signal, (bounds) =>
      this.#client.callTool(
        { name: tool.name, arguments: { ...input } },
        {
          ...bounds,
          toolDefinition: { name: tool.name, inputSchema: tool.inputSchema as Tool['inputSchema'] },
          ...(progress === null
            ? {}
            : {
                onprogress: ({ progress: done, total, message }) => {
                  progress(done, message ?? '', total)
                },
              }),
        },
      ),
    )
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    const { transport } = this.#client
    if (transport instanceof StreamableHTTPClientTransport) {
      // The server would keep it: the SDK ends the connection alone.
      await untilAborted(transport.terminateSession(), AbortSignal.timeout(END_MS)).catch(() => undefined)
    }
    await this.#client.close().catch(() => undefined)
  }

  #fail(error: GatewayError): void {
    this.#broken.abort(error)
    void this.close()
  }

  /** Ends `work` with the connection, with `signal` and after `ms`. */
  async #within<Result>(
    ms: number,
    signal: AbortSignal,
    work: (options: {
      readonly signal: AbortSignal
      readonly timeout: number
      readonly maxTotalTimeout: number
    }) => Promise<Result>,
  ): Promise<Result> {
    const broken = this.#broken.signal
    try {
      broken.throwIfAborted()
      return await work({ signal: AbortSignal.any([signal, broken]), timeout: ms, maxTotalTimeout: ms })
    } catch (cause) {
      if (broken.aborted) throw broken.reason
      if (signal.aborted) throw new GatewayError('CLIENT_CLOSED')
      throw cause
    }
  }
}

/** A server with an address is asked first whether it knows the revision without a handshake. */
function clientOf(
  { place }: ToolServer,
  version: string,
  { onChanged, asks }: { readonly onChanged: () => void; readonly asks: ToolClient | null },
): Client {
  const isAsked = 'url' in place && place.transport === 'http'
  const elicit = asks?.elicit ?? null
  const sample = asks?.sample ?? null
  const capabilities = {
    ...(elicit === null ? {} : { elicitation: { form: {} } }),
    ...(sample === null ? {} : { sampling: {} }),
  }
  const client = new Client(
    { name: 'sluice', version },
    {
      capabilities,
      jsonSchemaValidator: NO_VALIDATION,
      versionNegotiation: { mode: isAsked ? 'auto' : 'legacy' },
      listChanged: { tools: { autoRefresh: false, onChanged } },
    },
  )
  if (elicit !== null) {
    client.setRequestHandler(
      'elicitation/create',
      async ({ params }, { mcpReq }) => (await elicit(params as unknown as Json, mcpReq.signal)) as ElicitResult,
    )
  }
  if (sample !== null) {
    client.setRequestHandler(
      'sampling/createMessage',
      async ({ params }, { mcpReq }) =>
        (await sample(params as unknown as Json, mcpReq.signal)) as unknown as CreateMessageResult,
    )
  }
  return client
}

function tooMuch(what: string): GatewayError {
  return new GatewayError('UPSTREAM_INVALID_ANSWER', { message: `The tool server gave ${what}.` })
}
