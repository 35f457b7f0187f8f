import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { Worker } from 'node:worker_threads'

/** Number of connections: more than the queue of a listener with a backlog of 1 takes. */
const FILLERS = 4

/** A program that listens and never accepts: its event loop is blocked. */
const SLEEPER = `
  const { createServer } = require('node:net')
  const { parentPort, workerData } = require('node:worker_threads')
  const server = createServer()
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage(server.address().port)
    setImmediate(() => Atomics.wait(new Int32Array(workerData), 0, 0))
  })
`

/** A port that neither accepts nor refuses a connection. */
export class BlackHole {
  readonly origin: string
  readonly #worker: Worker
  readonly #awake: Int32Array
  readonly #fillers: readonly Socket[]

  private constructor(port: number, worker: Worker, awake: Int32Array, fillers: readonly Socket[]) {
    this.origin = `http://127.0.0.1:${port}`
    this.#worker = worker
    this.#awake = awake
    this.#fillers = fillers
  }

  static async open(): Promise<BlackHole> {
    const shared = new SharedArrayBuffer(4)
    const worker = new Worker(SLEEPER, { eval: true, workerData: shared })
    const [port] = (await once(worker, 'message')) as [number]
    const fillers = Array.from({ length: FILLERS }, () => {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => undefined)
      return socket
    })
    await Promise.all(fillers.slice(0, 2).map((socket) => once(socket, 'connect')))
    return new BlackHole(port, worker, new Int32Array(shared), fillers)
  }

  async close(): Promise<void> {
    for (const socket of this.#fillers) socket.destroy()
    Atomics.store(this.#awake, 0, 1)
    Atomics.notify(this.#awake, 0)
    await this.#worker.terminate()
  }
}
