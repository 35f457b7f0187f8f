import { Agent, request } from 'node:http'
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** The end of a request as its client saw it. `broken` without bytes: the request may not have reached the gateway. */
export type Outcome = 'answered' | 'broken' | 'timeout'

/** One connection of a client, as the client sees it. */
export interface Connection {
  readonly localPort: number
  readonly openedAtMs: number
  /** When its first answer was complete; null before. */
  firstAnswerAtMs: number | null
}

/** The result of one request. */
export interface Fate {
  /** Sent as `X-Client-Request-Id` and as `user` of the body. */
  readonly id: string
  readonly stream: boolean
  readonly startedAtMs: number
  endedAtMs: number
  outcome: Outcome
  /** 0 without a head. */
  status: number
  bytes: number
  body: string
  error: string | null
  /** Null when the client never connected. */
  connection: Connection | null
}

export interface LoadOptions {
  readonly url: string
  readonly apiKey: string
  /** Number of clients; each sends one request after the other on a kept-alive connection. */
  readonly clients: number
  /** Prefix of the ids. */
  readonly name: string
  /** The message of the n-th request; it may hold a behaviour for the simulator. */
  readonly message: (n: number) => string
  readonly model?: string
  readonly isStream?: (n: number) => boolean
  readonly timeoutMs?: number
}

/** Pause after a refused connection, so that clients do not spin. */
const REFUSED_PAUSE_MS = 100

/** Clients that send requests to a gateway until stopped, and record the result of every request. */
export class Load {
  readonly fates: Fate[] = []
  readonly #options: LoadOptions
  readonly #connections = new WeakMap<Socket, Connection>()
  #sent = 0
  #served = 0
  #stopping = false
  #inFlight = 0
  readonly #clients: Promise<void>[]

  constructor(options: LoadOptions) {
    this.#options = options
    this.#clients = Array.from({ length: options.clients }, () => this.#runClient())
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** Number of requests with a complete answer with 200. */
  get served(): number {
    return this.#served
  }

  /** Sends no new requests. Resolves to all results when the running requests have ended. */
  async stop(): Promise<readonly Fate[]> {
    this.#stopping = true
    await Promise.all(this.#clients)
    return this.fates
  }

  async #runClient(): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    try {
      while (!this.#stopping) {
        const fate = await this.#send(agent, this.#sent++)
        this.fates.push(fate)
        if (isServed(fate)) this.#served += 1
        if (fate.error?.includes('ECONNREFUSED')) await new Promise((resolve) => setTimeout(resolve, REFUSED_PAUSE_MS))
      }
    } finally {
      agent.destroy()
    }
  }

  async #send(agent: Agent, n: number): Promise<Fate> {
    const { url, apiKey, name, message, model = 'm', isStream = () => false, timeoutMs = 30_000 } = this.#options
    const id = `${name}-${n}`
    const stream = isStream(n)
    const fate: Fate = {
      id,
      stream,
      startedAtMs: Date.now(),
      endedAtMs: 0,
      outcome: 'broken',
      status: 0,
      bytes: 0,
      body: '',
      error: null,
      connection: null,
    }
    const body = JSON.stringify({ model, stream, user: id, messages: [{ role: 'user', content: message(n) }] })
    this.#inFlight += 1
    const outgoing = request(`${url}/v1/chat/completions`, {
      agent,
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'x-client-request-id': id,
      },
    })
    const timer = setTimeout(() => {
      fate.outcome = 'timeout'
      outgoing.destroy(new Error(`no whole answer within ${timeoutMs} ms`))
    }, timeoutMs)
    outgoing.on('socket', (socket) => {
      this.#noteConnection(socket, fate)
    })
    outgoing.end(body)
    try {
      await readAnswer(outgoing, fate)
      fate.outcome = 'answered'
      if (fate.connection !== null) fate.connection.firstAnswerAtMs ??= Date.now()
    } catch (cause) {
      fate.error = textOf(cause)
    }
    clearTimeout(timer)
    fate.endedAtMs = Date.now()
    this.#inFlight -= 1
    return fate
  }

  #noteConnection(socket: Socket, fate: Fate): void {
    const known = this.#connections.get(socket)
    if (known !== undefined) {
      fate.connection = known
      return
    }
    const opened = (): void => {
      const connection = { localPort: socket.localPort ?? 0, openedAtMs: Date.now(), firstAnswerAtMs: null }
      this.#connections.set(socket, connection)
      fate.connection = connection
    }
    if (socket.connecting) socket.once('connect', opened)
    else opened()
  }
}

/** Whether the answer is complete with status 200: valid JSON for a buffered request, a last event for a stream. */
export function isServed(fate: Fate): boolean {
  if (fate.outcome !== 'answered' || fate.status !== 200) return false
  return fate.stream ? fate.body.trimEnd().endsWith('data: [DONE]') : isWholeJson(fate.body)
}

function isWholeJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}

async function readAnswer(outgoing: ClientRequest, fate: Fate): Promise<void> {
  const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve)
    outgoing.on('error', reject)
  })
  fate.status = incoming.statusCode ?? 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    fate.bytes += chunk.length
    fate.body += chunk.toString('latin1')
  }
}

function textOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  const { code } = cause as NodeJS.ErrnoException
  return code === undefined ? cause.message : `${code} ${cause.message}`
}
