import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

type Json = Record<string, unknown>

/** An upstream server of tools that speaks HTTP+SSE of 2024-11-05: all its answers come over one stream. */
export class SseToolServer {
  readonly #server: Server
  readonly #tools: readonly string[]
  /** The text of the result of a tool. */
  readonly #textOf: (tool: string) => string
  #stream: ServerResponse | null = null

  private constructor(tools: readonly string[], textOf: (tool: string) => string) {
    this.#tools = tools
    this.#textOf = textOf
    this.#server = createServer((req, res) => {
      this.#serve(req, res).catch(() => res.destroy())
    })
  }

  static async start(tools: readonly string[], textOf: (tool: string) => string): Promise<SseToolServer> {
    const one = new SseToolServer(tools, textOf)
    one.#server.listen(0, '127.0.0.1')
    await once(one.#server, 'listening')
    return one
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/sse`
  }

  async stop(): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (req.method === 'GET') {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: endpoint\ndata: /messages\n\n')
      this.#stream = res
      return
    }
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    res.writeHead(202).end()
    const { id, method, params = {} } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Json
    const result = this.#resultOf(String(method), params as Json)
    if (id === undefined || result === null) return
    this.#stream?.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`)
  }

  #resultOf(method: string, { protocolVersion, name }: Json): Json | null {
    if (method === 'initialize') {
      return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'legacy', version: '1' } }
    }
    if (method === 'tools/list') {
      return { tools: this.#tools.map((tool) => ({ name: tool, description: tool, inputSchema: { type: 'object' } })) }
    }
    if (method !== 'tools/call') return null
    return { content: [{ type: 'text', text: this.#textOf(String(name)) }] }
  }
}
