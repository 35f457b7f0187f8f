import { createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { once } from 'node:events'

/** A server on raw sockets: a test writes the bytes of each connection. */
export class RawUpstream {
  readonly origin: string
  /** Every connection so far, open or not. */
  readonly sockets: Socket[] = []
  /** Complete requests in order: head, body, and the number of the connection. */
  readonly requests: Array<{ readonly head: string; readonly body: string; readonly connection: number }> = []
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
    this.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  /** @param answer called for every complete request */
  static async start(answer: (socket: Socket, nth: number) => void): Promise<RawUpstream> {
    const server = createServer({ noDelay: true })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const upstream = new RawUpstream(server)
    server.on('connection', (socket) => {
      upstream.#accept(socket, answer)
    })
    return upstream
  }

  get openConnections(): number {
    return this.sockets.filter((socket) => !socket.destroyed).length
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #accept(socket: Socket, answer: (socket: Socket, nth: number) => void): void {
    const connection = this.sockets.push(socket) - 1
    socket.on('error', () => undefined)
    let received = Buffer.alloc(0)
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes])
      for (;;) {
        const end = received.indexOf('\r\n\r\n')
        if (end === -1) return
        const head = received.toString('latin1', 0, end)
        const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0)
        const whole = end + 4 + length
        if (received.length < whole) return
        this.requests.push({ head, body: received.toString('utf8', end + 4, whole), connection })
        received = received.subarray(whole)
        answer(socket, this.requests.length)
      }
    })
  }
}
