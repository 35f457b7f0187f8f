import type { Server, Socket } from 'node:net'
import { createServer } from 'node:net'

/** What a server says to a script; null: nothing at all. */
export type FakeAnswer = string | null

/** A server that speaks just enough RESP to be connected to, and answers every script as it is told. */
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
