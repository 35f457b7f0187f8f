import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A webhook as it was received. */
export interface ReceivedWebhook {
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: string
  readonly json: { readonly type: string; readonly timestamp: string; readonly data: Record<string, unknown> }
}

/** A receiver of webhooks on loopback. */
export class WebhookReceiver {
  readonly received: ReceivedWebhook[] = []
  /** The answer when there are no others. */
  otherwise = 204
  /** The next answers. `silent`: there is no answer. */
  readonly answers: Array<number | 'silent' | { readonly status: number; readonly headers: Record<string, string> }> =
    []
  readonly #server: Server

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString()
        this.received.push({
          path: request.url ?? '',
          headers: request.headers as Record<string, string>,
          body,
          json: JSON.parse(body) as ReceivedWebhook['json'],
        })
        const answer = this.answers.shift() ?? this.otherwise
        if (answer === 'silent') return
        if (typeof answer === 'number') response.writeHead(answer).end()
        else response.writeHead(answer.status, answer.headers).end()
      })
    })
  }

  static async start(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver()
    receiver.#server.listen(0, '127.0.0.1')
    await once(receiver.#server, 'listening')
    return receiver
  }

  url(path = '/'): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`
  }

  /** The messages that were received at a path. */
  at(path: string): ReceivedWebhook[] {
    return this.received.filter((one) => one.path === path)
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }
}
