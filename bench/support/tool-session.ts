const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2025-11-25',
}

/** A session of the tool server over Streamable HTTP. */
export class ToolSession {
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>
  #calls = 0

  private constructor(url: string, headers: Readonly<Record<string, string>>) {
    this.#url = url
    this.#headers = headers
  }

  static async begin(url: string, token: string): Promise<ToolSession> {
    const at = `${url}/mcp`
    const headers = { ...HEADERS, authorization: `Bearer ${token}` }
    const clientInfo = { name: 'bench', version: '1' }
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
    const begun = await fetch(at, { method: 'POST', headers, body })
    await begun.text()
    const id = begun.headers.get('mcp-session-id')
    if (id === null) throw new Error(`no session: ${begun.status}`)
    const session = new ToolSession(at, { ...headers, 'mcp-session-id': id })
    await session.#post({ jsonrpc: '2.0', method: 'notifications/initialized' })
    return session
  }

  /** Calls a tool. Resolves to whether it answered. */
  async call(name: string, input: object, signal?: AbortSignal): Promise<boolean> {
    this.#calls += 1
    const params = { name, arguments: input }
    const text = await this.#post({ jsonrpc: '2.0', id: this.#calls, method: 'tools/call', params }, signal)
    return text.includes('"isError":false')
  }

  /** Opens the stream for messages of the server. */
  stream(): Promise<Response> {
    return fetch(this.#url, { headers: { ...this.#headers, accept: 'text/event-stream' } })
  }

  async #post(message: object, signal?: AbortSignal): Promise<string> {
    const body = JSON.stringify(message)
    const ended = signal === undefined ? {} : { signal }
    const answer = await fetch(this.#url, { method: 'POST', headers: this.#headers, body, ...ended })
    return answer.text()
  }
}
