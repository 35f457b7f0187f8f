import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'

/** A way to a gateway that a test can cut. */
export class CuttableProxy {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(server: Server) {
    this.#server = server
  }

  static async start(url: string): Promise<CuttableProxy> {
    const { hostname, port } = new URL(url)
    const server = createServer()
    const proxy = new CuttableProxy(server)
    server.on('connection', (inner) => {
      const outer = connect(Number(port), hostname)
      for (const [socket, other] of [
        [inner, outer],
        [outer, inner],
      ] as const) {
        proxy.#sockets.add(socket)
        socket.on('error', () => undefined)
        socket.on('close', () => {
          proxy.#sockets.delete(socket)
          other.destroy()
        })
        socket.pipe(other)
      }
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Breaks all connections. New ones go through. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.cut()
    await closed
  }
}
