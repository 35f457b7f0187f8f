import type { Login } from './remote.ts'

export interface ListedTool {
  readonly name: string
  readonly description: string
  readonly annotations: { readonly readOnlyHint?: boolean; readonly destructiveHint?: boolean }
}

export interface ToolResult {
  readonly content: ReadonlyArray<{ readonly type: string; readonly text?: string }>
  readonly structuredContent?: object
  readonly isError: boolean
}

export interface ConnectionReport {
  readonly server: string
  readonly protocol: string
  readonly tools: number
  readonly ms: number
}

type Json = Readonly<Record<string, unknown>>

/** A call of a tool may be an answer of a model. */
const TIMEOUT_MS = 600_000
const PROTOCOL = '2025-11-25'

/** The tool server of a gateway, as commands call it. */
export class ToolServer {
  readonly #login: Login

  constructor(login: Login) {
    this.#login = login
  }

  async list(): Promise<{ readonly tools: readonly ListedTool[] }> {
    return (await this.#json('GET', '/mcp/tools')) as unknown as { tools: ListedTool[] }
  }

  async call(name: string, input: object): Promise<ToolResult> {
    const body = { arguments: input }
    return (await this.#json('POST', `/mcp/tools/${encodeURIComponent(name)}`, body)) as unknown as ToolResult
  }

  /** Shakes hands, lists the tools, and ends the session. */
  async test(): Promise<ConnectionReport> {
    const startMs = performance.now()
    const params = { protocolVersion: PROTOCOL, capabilities: {}, clientInfo: { name: 'sluice', version: '1' } }
    const begun = await this.#send('POST', '/mcp', { body: rpc(1, 'initialize', params) })
    const { serverInfo, protocolVersion } = (await resultOf(begun)) as {
      serverInfo: { name: string; version: string }
      protocolVersion: string
    }
    const session = begun.headers.get('mcp-session-id')
    const headers = {
      'mcp-protocol-version': protocolVersion,
      ...(session === null ? {} : { 'mcp-session-id': session }),
    }
    await this.#send('POST', '/mcp', { body: { jsonrpc: '2.0', method: 'notifications/initialized' }, headers })
    const listed = await this.#send('POST', '/mcp', { body: rpc(2, 'tools/list', {}), headers })
    const { tools } = (await resultOf(listed)) as { tools: unknown[] }
    await this.#send('DELETE', '/mcp', { headers })
    return {
      server: `${serverInfo.name} ${serverInfo.version}`,
      protocol: protocolVersion,
      tools: tools.length,
      ms: Math.round(performance.now() - startMs),
    }
  }

  async #json(method: string, path: string, body?: object): Promise<Json> {
    const answer = await this.#send(method, path, body === undefined ? {} : { body })
    return (await answer.json()) as Json
  }

  /** Rejects with the message of the gateway. */
  async #send(
    method: string,
    path: string,
    { body, headers = {} }: { readonly body?: object; readonly headers?: Readonly<Record<string, string>> },
  ): Promise<Response> {
    const { url, token } = this.#login
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json, text/event-stream',
        'user-agent': 'sluice',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    if (answer.ok) return answer
    const text = await answer.text()
    throw new Error(messageIn(text) ?? `${method} ${path}: status ${answer.status}`)
  }
}

function rpc(id: number, method: string, params: object): object {
  return { jsonrpc: '2.0', id, method, params }
}

/** The result in an answer: JSON, or the message in a stream of events. */
async function resultOf(answer: Response): Promise<unknown> {
  const text = await answer.text()
  const isStream = (answer.headers.get('content-type') ?? '').startsWith('text/event-stream')
  const json = isStream ? (/^data: (\{.*\})$/m.exec(text)?.[1] ?? '{}') : text
  const { result, error } = JSON.parse(json) as { result?: unknown; error?: { message: string } }
  if (result === undefined) throw new Error(error?.message ?? 'the answer has no result')
  return result
}

function messageIn(text: string): string | null {
  try {
    const { error } = JSON.parse(text) as { error?: { message?: string } }
    return error?.message ?? null
  } catch {
    return null
  }
}
