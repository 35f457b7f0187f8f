import { GatewayError, errorFields } from '../../shared/core/errors.ts'
import type { ManagementRequest, ManagementResponse } from '../management/web.ts'
import type { McpCaller, McpCallers } from './callers.ts'
import { LegacySse } from './legacy-sse.ts'
import type { Origins } from './origins.ts'
import type { ListWatch } from './list-watch.ts'
import { resultOf } from './protocol-server.ts'
import type { ProtocolServerParts } from './protocol-server.ts'
import { parseMessage } from './messages.ts'
import { METADATA } from './paths.ts'
import type { SessionNotices } from './session-notices.ts'
import type { SessionIds } from './session-ids.ts'
import type { McpSessions } from './sessions.ts'
import { StreamableHttp } from './streamable-http.ts'
import type { Json } from './tool-source.ts'

export interface McpServiceOptions {
  readonly parts: ProtocolServerParts
  readonly callers: McpCallers
  readonly sessions: McpSessions
  readonly ids: SessionIds
  /** Null: there is one machine. */
  readonly notices: SessionNotices | null
  readonly watch: Pick<ListWatch, 'close'>
  readonly origins: Origins
  /** The address under which clients reach the gateway; null: it is that of their requests. */
  readonly baseUrl: string | null
  readonly isTls: boolean
  /** The issuers whose access tokens are taken, and the scopes to ask them for; null: users log in with the management API. */
  readonly authorization: { readonly servers: readonly string[]; readonly scopes: readonly string[] } | null
}

const TOOL = /^\/mcp\/tools\/([^/]{1,256})$/

/** Serves the tool server: checks origin and caller, and hands the request to its transport. */
export class McpService {
  readonly #options: McpServiceOptions
  readonly #streamable: StreamableHttp
  readonly #sse: LegacySse

  constructor(options: McpServiceOptions) {
    this.#options = options
    const { parts, sessions, notices } = options
    this.#streamable = new StreamableHttp(options)
    this.#sse = new LegacySse(parts, sessions, notices)
  }

  async serve(request: ManagementRequest): Promise<ManagementResponse> {
    try {
      return await this.#route(request)
    } catch (cause) {
      return this.#failed(request, GatewayError.from(cause), cause)
    }
  }

  close(): void {
    this.#options.watch.close()
    this.#options.sessions.close()
    this.#options.notices?.close()
    this.#streamable.close()
  }

  async #route(request: ManagementRequest): Promise<ManagementResponse> {
    const { path, headers, address } = request
    if (path === METADATA || path.startsWith(`${METADATA}/`)) return this.#metadata(request)
    this.#options.origins.check(headers, address)
    const allow = methodsOf(path)
    if (allow === null) throw new GatewayError('ROUTE_NOT_FOUND', { message: 'The tool server is at /mcp.' })
    const caller = await this.#options.callers.identify(headers, address)
    if (!allow.includes(request.method)) throw notAllowed(allow)
    switch (path) {
      case '/mcp':
        return this.#streamable.serve(request, caller)
      case '/mcp/sse':
        return this.#sse.open(request, caller)
      case '/mcp/messages':
        return this.#sse.post(request, caller)
      case '/mcp/tools':
        return json(request, 200, { tools: await this.#options.parts.tools.list(caller) })
      default:
        return this.#callTool(request, caller)
    }
  }

  async #callTool(request: ManagementRequest, caller: McpCaller): Promise<ManagementResponse> {
    const name = decoded(TOOL.exec(request.path)?.[1] ?? '')
    const sent = request.body.length === 0 ? {} : parseMessage(request.body)
    if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) {
      throw new GatewayError('INVALID_FIELD', { message: 'The body must be an object with the arguments of the tool.' })
    }
    const { tools } = this.#options.parts
    const outcome = await tools.call({
      caller,
      name,
      input: argumentsOf(sent as Json),
      signal: request.signal,
      progress: null,
    })
    if (outcome === null) throw new GatewayError('NOT_FOUND', { message: `There is no tool ${JSON.stringify(name)}.` })
    if (outcome.isError && outcome.error.code === 'INVALID_FIELD') return json(request, 400, { error: outcome.error })
    return json(request, 200, resultOf(outcome))
  }

  #metadata(request: ManagementRequest): ManagementResponse {
    if (request.method !== 'GET') throw notAllowed(['GET'])
    const path = request.path.slice(METADATA.length)
    if (!['', '/mcp', '/mcp/sse'].includes(path)) throw new GatewayError('NOT_FOUND')
    const { authorization } = this.#options
    return json(request, 200, {
      resource: `${this.#base(request)}${path === '' ? '/mcp' : path}`,
      resource_name: 'Sluice',
      bearer_methods_supported: ['header'],
      ...(authorization === null
        ? {}
        : { authorization_servers: authorization.servers, scopes_supported: authorization.scopes }),
    })
  }

  #base({ headers }: ManagementRequest): string {
    const { baseUrl, isTls } = this.#options
    return baseUrl ?? `${isTls ? 'https' : 'http'}://${headers['host'] ?? 'localhost'}`
  }

  #failed(request: ManagementRequest, error: GatewayError, cause: unknown): ManagementResponse {
    if (error.code === 'INTERNAL') this.#options.parts.onFault(cause)
    const { type, message, code, param, status } = error
    const fields = errorFields(error).map(([name, value]) =>
      name === 'WWW-Authenticate'
        ? ([name, `${value}, ${this.#challenge(request, error)}`] as const)
        : ([name, value] as const),
    )
    return json(request, status, { error: { type, message, code, param, request_id: request.requestId } }, fields)
  }

  /** Tells a client without a valid token where tokens come from (RFC 9728). */
  #challenge(request: ManagementRequest, { code }: GatewayError): string {
    const isSent = request.headers['authorization'] !== undefined && code === 'TOKEN_INVALID'
    const metadata = `resource_metadata="${this.#base(request)}${METADATA}/mcp"`
    return isSent ? `error="invalid_token", ${metadata}` : metadata
  }
}

function methodsOf(path: string): readonly string[] | null {
  if (path === '/mcp') return ['GET', 'POST', 'DELETE']
  if (path === '/mcp/sse' || path === '/mcp/tools') return ['GET']
  return path === '/mcp/messages' || TOOL.test(path) ? ['POST'] : null
}

function notAllowed(allow: readonly string[]): GatewayError {
  return new GatewayError('METHOD_NOT_ALLOWED', { message: `This path takes ${allow.join(', ')}.`, allow })
}

/** The arguments themselves, or as the protocol wraps them. */
function argumentsOf(sent: Json): Json {
  const { arguments: wrapped } = sent
  const isWrapped = Object.keys(sent).length === 1 && typeof wrapped === 'object' && wrapped !== null
  return isWrapped ? (wrapped as Json) : sent
}

function json(
  { requestId }: ManagementRequest,
  status: number,
  value: object,
  fields: ReadonlyArray<readonly [string, string]> = [],
): ManagementResponse {
  const headers: ReadonlyArray<readonly [string, string]> = [
    ['Content-Type', 'application/json'],
    ['Cache-Control', 'no-store'],
    ['X-Request-Id', requestId],
    ...fields,
  ]
  return { status, headers, body: Buffer.from(JSON.stringify(value)) }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
