/** An answer of the tool server, read piece by piece. */
export interface RawAnswer {
  readonly status: number
  readonly headers: Headers
  /** The whole body. */
  text(): Promise<string>
  /** Resolves to what came so far, once it contains `part`. Rejects when the stream ends before. */
  until(part: string): Promise<string>
  /** Resolves when the server has ended the stream. */
  ended(): Promise<void>
  /** Breaks the connection. */
  cut(): void
}

export interface RawCall {
  readonly method?: string
  readonly path?: string
  readonly token?: string | null
  readonly session?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** Calls the tool server without a client library. */
export async function rawMcp(url: string, call: RawCall): Promise<RawAnswer> {
  const { method = 'POST', path = '/mcp', token = null, session, body, headers = {} } = call
  const left = new AbortController()
  const answer = await fetch(new URL(path, url), {
    method,
    signal: left.signal,
    headers: {
      accept: method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(session === undefined ? {} : { 'mcp-session-id': session }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  let seen = ''
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  const more = async (): Promise<boolean> => {
    const { done, value = '' } = (await reader?.read()) ?? { done: true }
    seen += value
    return !done
  }
  return {
    status: answer.status,
    headers: answer.headers,
    async text() {
      while (await more());
      return seen
    },
    async until(part) {
      while (!seen.includes(part)) if (!(await more())) throw new Error(`the stream ended without ${part}: ${seen}`)
      return seen
    },
    async ended() {
      while (await more());
    },
    cut() {
      left.abort()
    },
  }
}

export const INITIALIZE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
}

/** Begins a session over Streamable HTTP. Resolves to its id. */
export async function beginSession(url: string, token: string): Promise<string> {
  const answer = await rawMcp(url, { token, body: INITIALIZE })
  await answer.text()
  const session = answer.headers.get('mcp-session-id') ?? ''
  await rawMcp(url, { token, session, body: { jsonrpc: '2.0', method: 'notifications/initialized' } })
  return session
}
