import type { CallToolResult } from '@modelcontextprotocol/client'
import { readDocument } from '../../../shared/config/openapi-document.ts'
import { GatewayError } from '../../../shared/core/errors.ts'
import type { ToolDefinition, ToolServer, ToolServerAddress } from '../../../shared/core/tool-server.ts'
import type { DigestedTool } from '../../store/tool-servers.ts'
import { requestOf } from '../openapi/operation-request.ts'
import { operationsOf } from '../openapi/operations.ts'
import type { ApiOperation } from '../openapi/operations.ts'
import type { CallOptions, ServerConnection } from './connection.ts'
import { asOwnFault } from './server-errors.ts'
import { readTool } from './tool-definitions.ts'
import { fetchTo } from './transports.ts'
import type { Fetch, TransportParts } from './transports.ts'

/** The most characters of an error's body that a model gets. */
const MAX_ERROR_CHARACTERS = 4_096

/** A proxy answers in place of the API, or the API is overloaded. */
const AWAY: ReadonlySet<number> = new Set([502, 503, 504])

export interface OpenApiParts extends TransportParts {
  /** The OpenAPI document of a server; null: it has none any more. */
  readonly documentOf: (serverId: string) => Promise<string | null>
}

/** An HTTP API as a server of tools: its operations are those of its OpenAPI document. Requests are made for each call. */
export class OpenApiConnection implements ServerConnection {
  readonly isUsable = true
  readonly #server: ToolServer
  readonly #baseUrl: string
  readonly #operations: ReadonlyMap<string, ApiOperation>
  readonly #fetch: Fetch
  readonly #closed = new AbortController()

  private constructor(server: ToolServer, baseUrl: string, operations: readonly ApiOperation[], fetch: Fetch) {
    this.#server = server
    this.#baseUrl = baseUrl
    this.#operations = new Map(operations.map((one) => [one.tool.name, one]))
    this.#fetch = fetch
  }

  /** Rejects when the document cannot be read, and when the address must not be called. */
  static async open(server: ToolServer, { url }: ToolServerAddress, parts: OpenApiParts): Promise<OpenApiConnection> {
    const text = await asOwnFault(parts.documentOf(server.id))
    if (text === null) {
      throw new GatewayError('UPSTREAM_INVALID_ANSWER', { message: 'The server has no OpenAPI document.' })
    }
    const { operations } = operationsOf(readDocument(text, '/openapi'))
    return new OpenApiConnection(
      server,
      url,
      operations,
      fetchTo(server, url, parts, { mayStream: () => false, onTooLarge: () => null }),
    )
  }

  listTools(): Promise<DigestedTool[]> {
    const tools = [...this.#operations.values()].flatMap(({ tool }) => readTool(tool) ?? [])
    return Promise.resolve(tools)
  }

  async call(
    { name }: ToolDefinition,
    input: Readonly<Record<string, unknown>>,
    { signal }: CallOptions,
  ): Promise<CallToolResult> {
    const operation = this.#operations.get(name)
    if (operation === undefined) {
      throw new GatewayError('UPSTREAM_INVALID_REQUEST', { message: 'The API has no such operation any more.' })
    }
    const { method, url, headers, body } = requestOf(operation, this.#baseUrl, input)
    const late = AbortSignal.timeout(this.#server.timeoutMs)
    try {
      const response = await this.#fetch(url, {
        method,
        headers: { ...headers, ...this.#server.headers },
        body,
        signal: AbortSignal.any([signal, late, this.#closed.signal]),
      })
      return await this.#resultOf(response)
    } catch (cause) {
      if (signal.aborted) throw new GatewayError('CLIENT_CLOSED')
      if (late.aborted)
        throw new GatewayError('UPSTREAM_TIMEOUT', { message: 'The API did not answer in time.', cause })
      throw cause
    }
  }

  close(): Promise<void> {
    this.#closed.abort(new GatewayError('UPSTREAM_UNREACHABLE', { message: 'The tool server was changed or removed.' }))
    return Promise.resolve()
  }

  async #resultOf(response: Response): Promise<CallToolResult> {
    const { status } = response
    const mediaType = (response.headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
    const bytes = Buffer.from(await response.arrayBuffer())
    if (status === 401) throw failure('UPSTREAM_AUTH', 'does not take our credential')
    if (status === 429) throw failure('UPSTREAM_RATE_LIMITED', 'is rate limiting')
    // Other errors may come of the arguments of one caller, and must not keep others from the API.
    if (AWAY.has(status)) throw failure('UPSTREAM_ERROR', `answered with status ${status}`)
    const isText = isTextual(mediaType)
    if (status >= 400) {
      const said = isText ? `\n${bytes.toString('utf8').slice(0, MAX_ERROR_CHARACTERS)}` : ''
      return { content: [{ type: 'text', text: `The API answered with status ${status}.${said}` }], isError: true }
    }
    if (mediaType.startsWith('image/')) {
      return { content: [{ type: 'image', data: bytes.toString('base64'), mimeType: mediaType }] }
    }
    if (!isText && bytes.length > 0) {
      return { content: [{ type: 'text', text: `[${bytes.length} bytes of ${mediaType || 'an unknown type'}]` }] }
    }
    const text = bytes.length === 0 ? `Done (status ${status}).` : bytes.toString('utf8')
    const structured = isJsonType(mediaType) ? objectOf(text) : null
    return { content: [{ type: 'text', text }], ...(structured === null ? {} : { structuredContent: structured }) }
  }
}

function isJsonType(mediaType: string): boolean {
  return /^application\/(?:[a-z0-9.+-]+\+)?json$/.test(mediaType)
}

function isTextual(mediaType: string): boolean {
  return mediaType.startsWith('text/') || isJsonType(mediaType) || /[/+]xml$/.test(mediaType) || mediaType === ''
}

/** Structured content is an object. */
function objectOf(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}

function failure(code: 'UPSTREAM_AUTH' | 'UPSTREAM_RATE_LIMITED' | 'UPSTREAM_ERROR', what: string): GatewayError {
  return new GatewayError(code, { message: `The API ${what}.` })
}
