import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

type Json = Record<string, unknown>

export interface UpstreamTool {
  readonly name: string
  readonly description: string
  readonly inputSchema?: Json
  readonly annotations?: Json
}

/** A call as a tool gets it. */
export interface UpstreamCall {
  readonly name: string
  readonly input: Json
  readonly meta: Json
  readonly headers: IncomingMessage['headers']
  /** Aborted when the caller cancels it. */
  readonly cancelled: AbortSignal
  /** Sends a notification, or a request, on the stream of the call. */
  readonly send: (message: Json) => void
}

interface Exchange {
  readonly req: IncomingMessage
  readonly res: ServerResponse
}

const text = (value: string): Json => ({ content: [{ type: 'text', text: value }] })

/** An upstream server of tools whose every answer a test decides. It speaks Streamable HTTP. */
export class UpstreamToolServer {
  tools: UpstreamTool[] = []
  /** Pages of the list; null: one page with `tools`. */
  page: ((cursor: string | undefined) => Json) | null = null
  onCall: (call: UpstreamCall) => Promise<Json> | Json = ({ name, input }) => text(`${name} ${JSON.stringify(input)}`)
  /** Answers a request in place of the protocol; false: it does not. */
  intercept: (method: string, res: ServerResponse, message: Json) => boolean = () => false
  /** The authorization server, where the server wants tokens; `accepts` says which. */
  protection: { readonly issuer: string; readonly accepts: (token: string) => boolean } | null = null
  readonly headers: IncomingMessage['headers'][] = []
  readonly methods: string[] = []
  /** Sessions that clients have ended. */
  readonly ended: string[] = []
  calls = 0
  readonly #server: Server
  readonly #streams = new Set<ServerResponse>()
  readonly #running = new Map<unknown, AbortController>()
  readonly #answers = new Map<unknown, (message: Json) => void>()
  #sessions = 0

  private constructor() {
    this.#server = createServer((req, res) => {
      this.#serve(req, res).catch(() => res.destroy())
    })
  }

  static async start(): Promise<UpstreamToolServer> {
    const one = new UpstreamToolServer()
    one.#server.listen(0, '127.0.0.1')
    await once(one.#server, 'listening')
    return one
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`
  }

  /** Clients that listen. */
  get listeners(): number {
    return this.#streams.size
  }

  /** Tells all clients that listen. */
  notify(method: string): void {
    for (const stream of this.#streams) stream.write(event({ jsonrpc: '2.0', method }))
  }

  /** Resolves to the answer of the client to a request that a call has sent. */
  answerTo(id: string): Promise<Json> {
    return new Promise((resolve) => this.#answers.set(id, resolve))
  }

  async stop(): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (this.protection !== null && this.#refuses(req, res, this.protection)) return
    this.headers.push(req.headers)
    if (req.method === 'GET') {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      this.#streams.add(res)
      res.on('close', () => this.#streams.delete(res))
      return
    }
    if (req.method === 'DELETE') {
      this.ended.push(String(req.headers['mcp-session-id']))
      res.writeHead(200).end()
      return
    }
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const message = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Json
    const method = typeof message['method'] === 'string' ? message['method'] : ''
    this.methods.push(method)
    if (this.intercept(method, res, message)) return
    if (method === '' || message['id'] === undefined) {
      this.#take(message)
      res.writeHead(202).end()
      return
    }
    await this.#request(method, message, { req, res })
  }

  /** Tells where tokens come from (RFC 9728). */
  #refuses(
    { url = '', headers }: IncomingMessage,
    res: ServerResponse,
    { issuer, accepts }: NonNullable<UpstreamToolServer['protection']>,
  ): boolean {
    const metadata = '/.well-known/oauth-protected-resource/mcp'
    if (url === metadata) {
      const body = { resource: this.url, authorization_servers: [issuer] }
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      return true
    }
    const token = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1]
    if (token !== undefined && accepts(token)) return false
    const challenge = `Bearer resource_metadata="${new URL(metadata, this.url).href}"`
    res.writeHead(401, { 'www-authenticate': challenge }).end()
    return true
  }

  #take(message: Json): void {
    if (message['method'] === 'notifications/cancelled') {
      this.#running.get((message['params'] as Json)['requestId'])?.abort()
    }
    if (message['method'] === undefined) this.#answers.get(message['id'])?.(message)
  }

  async #request(method: string, { id, params = {} }: Json, { req, res }: Exchange): Promise<void> {
    const given = params as Json
    const answer = (result: Json): void => {
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    }
    switch (method) {
      case 'initialize':
        this.#sessions += 1
        res.setHeader('mcp-session-id', `session-${this.#sessions}`)
        answer({
          protocolVersion: given['protocolVersion'],
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: 'upstream', version: '1' },
        })
        return
      case 'tools/list': {
        const tools = this.tools.map((tool) => ({ inputSchema: { type: 'object' }, ...tool }))
        answer(this.page?.(given['cursor'] as string | undefined) ?? { tools })
        return
      }
      case 'tools/call':
        await this.#call(id, given, { req, res })
        return
      default: {
        const error = { code: -32_601, message: 'Method not found' }
        res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, error }))
      }
    }
  }

  async #call(id: unknown, params: Json, { req, res }: Exchange): Promise<void> {
    this.calls += 1
    const cancelled = new AbortController()
    this.#running.set(id, cancelled)
    res.on('close', () => {
      cancelled.abort()
    })
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    const result = await this.onCall({
      name: String(params['name']),
      input: params['arguments'] as Json,
      meta: (params['_meta'] ?? {}) as Json,
      headers: req.headers,
      cancelled: cancelled.signal,
      send: (message) => {
        res.write(event({ jsonrpc: '2.0', ...message }))
      },
    })
    res.end(event({ jsonrpc: '2.0', id, result }))
  }
}

function event(message: Json): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`
}
