import { once } from 'node:events'
import { request } from 'node:http'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { eventually } from './eventually.ts'

export interface NewConnectionsOptions {
  readonly url: string
  readonly apiKey: string
  /** New connections a second. */
  readonly rate: number
  /** Prefix of the ids of requests. */
  readonly name: string
}

/** One connection in so many sends a chat request; the others request the list of models. */
const EVERY_CHAT = 10
const TICK_MS = 5
const MAX_TICK_MS = 4 * TICK_MS
const PATIENCE_MS = 60_000

/** The time since the last answer, and the longest such time. */
class Pause {
  longestMs = 0
  #ms = 0

  lasts(ms: number): void {
    this.#ms += ms
    this.longestMs = Math.max(this.longestMs, this.#ms)
  }

  end(): void {
    this.#ms = 0
  }
}

/** Clients that connect, send one request and leave, at a constant rate. Records the result of each. */
export class NewConnections {
  /** The results of requests without a complete answer with 200. */
  readonly failures: string[] = []
  /** Ids of the requests with a complete answer with 200. */
  readonly answered: string[] = []
  readonly #options: NewConnectionsOptions
  readonly #timer: NodeJS.Timeout
  readonly #startMs = performance.now()
  readonly #pauses = { all: new Pause(), chats: new Pause() }
  #tickedMs = performance.now()
  #begun = 0
  #over = 0

  constructor(options: NewConnectionsOptions) {
    this.#options = options
    this.#timer = setInterval(() => {
      const nowMs = performance.now()
      const due = ((nowMs - this.#startMs) / 1000) * options.rate
      // While this process was blocked, it could not see an answer.
      const awakeMs = Math.min(nowMs - this.#tickedMs, MAX_TICK_MS)
      this.#tickedMs = nowMs
      for (const pause of Object.values(this.#pauses)) pause.lasts(awakeMs)
      while (this.#begun < due) void this.#connect(this.#begun++)
    }, TICK_MS)
  }

  /** Number of connections that have ended, with or without an answer. */
  get over(): number {
    return this.#over
  }

  /** The longest times without an answer: to any request, and to chat requests. */
  get longestPausesMs(): { readonly all: number; readonly chats: number } {
    const { all, chats } = this.#pauses
    return { all: Math.round(all.longestMs), chats: Math.round(chats.longestMs) }
  }

  /** Opens no new connections; resolves when all have ended. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await eventually(
      () => {
        if (this.#over < this.#begun) throw new Error(`${this.#begun - this.#over} connections have no end`)
      },
      { timeoutMs: 2 * PATIENCE_MS },
    )
  }

  async #connect(n: number): Promise<void> {
    const id = `${this.#options.name}-${n}`
    const isChat = n % EVERY_CHAT === 0
    try {
      const status = await statusOf(isChat ? this.#chat(id) : this.#request(id, 'GET', '/v1/models', {}).end())
      if (status === 200) {
        this.#pauses.all.end()
        if (isChat) this.#pauses.chats.end()
        this.answered.push(id)
      } else this.failures.push(`${id}: ${status}`)
    } catch (cause) {
      const { code, message } = cause as NodeJS.ErrnoException
      this.failures.push(`${id}: ${code ?? message}`)
    }
    this.#over += 1
  }

  #chat(id: string): ClientRequest {
    const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] })
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    return this.#request(id, 'POST', '/v1/chat/completions', headers).end(body)
  }

  #request(id: string, method: string, path: string, headers: Record<string, string | number>): ClientRequest {
    const { url, apiKey } = this.#options
    return request(`${url}${path}`, {
      method,
      agent: false,
      timeout: PATIENCE_MS,
      headers: { authorization: `Bearer ${apiKey}`, connection: 'close', 'x-client-request-id': id, ...headers },
    }).on('timeout', function (this: ClientRequest) {
      this.destroy(new Error('no answer'))
    })
  }
}

async function statusOf(outgoing: ClientRequest): Promise<number | undefined> {
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
  incoming.resume()
  await once(incoming, 'end')
  return incoming.statusCode
}
