import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Changes the body of an answer. @param count answers before this one @param path of the request */
export type Alteration = (body: string, count: number, path: string) => string

/** A way to a gateway that changes answers. They go on when they are whole. */
export class AlteringProxy {
  readonly #server: Server
  readonly #target: URL
  #alter: Alteration = (body) => body
  #count = 0

  private constructor(server: Server, target: URL) {
    this.#server = server
    this.#target = target
    server.on('request', (from, to) => {
      this.#forward(from, to)
    })
  }

  static async start(url: string): Promise<AlteringProxy> {
    const server = createServer()
    const proxy = new AlteringProxy(server, new URL(url))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Takes effect with the next request. */
  alterBy(alter: Alteration): void {
    this.#alter = alter
    this.#count = 0
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }

  #forward(from: IncomingMessage, to: ServerResponse): void {
    const { hostname, port } = this.#target
    const { url: path = '/', method = 'GET', headers } = from
    const outer = request({ hostname, port, path, method, headers, agent: false }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('end', () => {
        const whole = Buffer.concat(chunks).toString()
        const body = this.#alter(whole, this.#count++, path)
        const { 'content-length': _, 'transfer-encoding': __, ...kept } = answer.headers
        to.writeHead(answer.statusCode ?? 502, kept).end(body)
      })
    })
    outer.on('error', () => to.destroy())
    from.pipe(outer)
  }
}
