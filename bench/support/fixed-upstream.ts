import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

const HEAD_END = Buffer.from('\r\n\r\n')
const TICK_MS = 5

const BODY = JSON.stringify({
  id: 'chatcmpl-fixed',
  object: 'chat.completion',
  created: 1,
  model: 'sim-gpt',
  choices: [{ index: 0, message: { role: 'assistant', content: 'fixed '.repeat(40) }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 100, completion_tokens: 40, total_tokens: 140 },
})
const ANSWER = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(BODY)}\r\n\r\n${BODY}`,
)

export interface FixedUpstream {
  /** Base URL of the chat protocol, `/v1` included. */
  readonly baseUrl: string
  /** Number of answers so far. */
  readonly answered: () => number
  close(): void
}

/** Starts an upstream that gives every request the same answer after the same time, at almost no CPU. */
export async function startFixedUpstream(latencyMs: number): Promise<FixedUpstream> {
  const due: Array<{ readonly socket: Socket; readonly atMs: number }> = []
  const sockets = new Set<Socket>()
  let answered = 0
  let first = 0
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    const reader = new RequestReader(() => {
      due.push({ socket, atMs: performance.now() + latencyMs })
    })
    socket.on('data', (chunk: Buffer) => {
      reader.push(chunk)
    })
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  })
  // Every answer waits equally long, so the queue is in the order of due times.
  const timer = setInterval(() => {
    const nowMs = performance.now()
    for (let next = due[first]; next !== undefined && next.atMs <= nowMs; next = due[first]) {
      first += 1
      if (next.socket.writable) next.socket.write(ANSWER)
      answered += 1
    }
    if (first > 10_000) {
      due.splice(0, first)
      first = 0
    }
  }, TICK_MS)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    answered: () => answered,
    close: () => {
      clearInterval(timer)
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Finds the ends of requests with a `content-length`. */
class RequestReader {
  readonly #onRequest: () => void
  #head: Buffer = Buffer.alloc(0)
  #left = 0

  constructor(onRequest: () => void) {
    this.#onRequest = onRequest
  }

  push(chunk: Buffer): void {
    let bytes = chunk
    while (bytes.length > 0) {
      if (this.#left > 0) {
        const taken = Math.min(this.#left, bytes.length)
        this.#left -= taken
        bytes = bytes.subarray(taken)
        if (this.#left === 0) this.#onRequest()
        continue
      }
      const head = this.#head.length === 0 ? bytes : Buffer.concat([this.#head, bytes])
      const end = head.indexOf(HEAD_END)
      if (end < 0) {
        this.#head = Buffer.from(head)
        return
      }
      this.#head = Buffer.alloc(0)
      this.#left = Number(/content-length: *(\d+)/i.exec(head.toString('latin1', 0, end))?.[1] ?? 0)
      bytes = head.subarray(end + HEAD_END.length)
      if (this.#left === 0) this.#onRequest()
    }
  }
}
