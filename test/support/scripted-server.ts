import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ReceivedRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** The client left before the answer was complete. */
  isAborted: boolean
}

export type Scene = (response: ServerResponse, request: ReceivedRequest) => void | Promise<void>

/** An HTTP server that answers each request with the next scene; the last scene repeats. */
export class ScriptedServer {
  readonly received: ReceivedRequest[] = []
  #scenes: Scene[] = []
  #at = 0
  readonly #server = createServer((request, response) => {
    void this.#play(request, response)
  })

  static async start(): Promise<ScriptedServer> {
    const server = new ScriptedServer()
    server.#server.listen(0, '127.0.0.1')
    await once(server.#server, 'listening')
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Clears the received requests and sets the scenes. */
  script(...scenes: Scene[]): void {
    this.received.length = 0
    this.#scenes = scenes
    this.#at = 0
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }

  async #play(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const received: ReceivedRequest = {
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
      isAborted: false,
    }
    response.on('close', () => (received.isAborted = !response.writableFinished))
    this.received.push(received)
    const scene = this.#scenes[Math.min(this.#at++, this.#scenes.length - 1)]
    await scene?.(response, received)
  }
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Scene {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'req_1', ...headers })
    response.end(JSON.stringify(body))
  }
}

/** A scene that writes the pieces of an event stream one by one. @param end false: the answer stays open */
export function events(pieces: ReadonlyArray<string | Buffer>, { end = true }: { end?: boolean } = {}): Scene {
  return async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': 'req_1' })
    response.flushHeaders()
    for (const piece of pieces) {
      await new Promise((resolve) => setImmediate(resolve))
      response.write(piece)
    }
    if (end) response.end()
  }
}

export const hangUp: Scene = (response) => void response.destroy()
export const sayNothing: Scene = () => undefined
