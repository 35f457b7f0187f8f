import type { Server, Socket } from 'node:net'
import { createServer } from 'node:net'

/** The server's answer to a script; null: no answer. */
export type FakeAnswer = string | null

/** A server with just enough RESP for a client to connect. It answers every script with `answer`. */
export class FakeRedis {
  answer: FakeAnswer = null
  connections = 0
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor() {
    this.#server = createServer((socket) => {
      this.connections += 1
      this.#sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => this.#sockets.delete(socket))
      socket.on('data', (chunk) => {
        const calls = chunk.toString('latin1').match(/\$(?:7\r\nevalsha|4\r\neval)\r\n/gi)?.length ?? 0
        for (let i = 0; i < calls; i++) {
          if (this.answer !== null) socket.write(this.answer)
        }
      })
    })
  }

  static async start(): Promise<FakeRedis> {
    const fake = new FakeRedis()
    await new Promise<void>((resolve) => fake.#server.listen(0, '127.0.0.1', resolve))
    return fake
  }

  get url(): string {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('not listening')
    return `redis://127.0.0.1:${address.port}`
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
