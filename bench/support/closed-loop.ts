import { connect } from 'node:net'
import type { Socket } from 'node:net'

/** `honour`: waits for `Retry-After` plus random jitter, as the SDKs of the vendors do. `impatient`: waits 100 ms. */
export type Manners = 'honour' | 'impatient'

export interface LoopTarget {
  /** `http://host:port/v1` */
  readonly baseUrl: string
  readonly headers: Readonly<Record<string, string>>
  /** A request of the chat protocol. */
  readonly body: string
}

/** The results of all clients between two calls of `take`. Times are milliseconds. */
export interface Tally {
  /** Times of answers with 200, from the last byte of the request to the last byte of the answer. */
  readonly servedMs: number[]
  /** Times of answers with 503. */
  readonly refusedMs: number[]
  /** Answers with 503 that have no usable `Retry-After` or not the body of an overload error. */
  malformed: number
  /** Any other status, and connections that broke. */
  failed: number
  /** Time of the last refusal, `performance.now()`. */
  lastRefusalMs: number
}

const IMPATIENT_MS = 100
const RAMP_MS = 1_000
const HEAD_END = Buffer.from('\r\n\r\n')

/** Clients that each send one request after another on a kept-alive connection. */
export class ClosedLoop {
  readonly #target: LoopTarget
  readonly #manners: Manners
  readonly #clients: Client[] = []
  #tally = newTally()

  constructor(target: LoopTarget, manners: Manners) {
    this.#target = target
    this.#manners = manners
  }

  /**
   * Adds clients, or ends some after their current answer. New clients start over `RAMP_MS`: if thousands of connections
   * were opened in one turn of the event loop, the latencies would include the time that this thread needs to open them.
   */
  resize(count: number): void {
    const added = count - this.#clients.length
    for (let index = 0; index < added; index++) {
      const client = new Client(this.#target, this.#manners, () => this.#tally)
      this.#clients.push(client)
      client.startIn((index / added) * RAMP_MS)
    }
    for (const client of this.#clients.splice(count)) client.stop()
  }

  /** Returns the tally since the last call and starts a new one. */
  take(): Tally {
    const tally = this.#tally
    this.#tally = newTally()
    return tally
  }
}

class Client {
  readonly #manners: Manners
  readonly #tally: () => Tally
  readonly #request: Buffer
  readonly #url: URL
  #socket: Socket | null = null
  #timer: NodeJS.Timeout | null = null
  #sentMs = 0
  #received: Buffer = Buffer.alloc(0)
  #stopping = false

  constructor(target: LoopTarget, manners: Manners, tally: () => Tally) {
    this.#manners = manners
    this.#tally = tally
    this.#url = new URL(`${target.baseUrl}/chat/completions`)
    const lines = Object.entries({
      host: this.#url.host,
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(target.body)),
      ...target.headers,
    }).map(([name, value]) => `${name}: ${value}\r\n`)
    this.#request = Buffer.from(`POST ${this.#url.pathname} HTTP/1.1\r\n${lines.join('')}\r\n${target.body}`)
  }

  startIn(ms: number): void {
    this.#after(ms, () => {
      this.#start()
    })
  }

  #start(): void {
    const socket = connect({ host: this.#url.hostname, port: Number(this.#url.port), noDelay: true })
    this.#socket = socket
    this.#received = Buffer.alloc(0)
    let counted = false
    socket.on('connect', () => {
      this.#send()
    })
    socket.on('data', (chunk: Buffer) => {
      this.#read(chunk)
    })
    socket.on('error', () => {
      counted = true
      if (!this.#stopping) this.#tally().failed += 1
    })
    socket.on('close', () => {
      if (this.#stopping) return
      if (!counted) this.#tally().failed += 1
      this.#after(IMPATIENT_MS, () => {
        this.#start()
      })
    })
  }

  stop(): void {
    this.#stopping = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    // During an answer, closing would look like a client that disconnects.
    if (this.#sentMs === 0) this.#socket?.destroy()
  }

  #send(): void {
    this.#sentMs = performance.now()
    this.#socket?.write(this.#request)
  }

  #after(ms: number, then: () => void): void {
    this.#timer = setTimeout(then, ms)
  }

  #read(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
    const end = this.#received.indexOf(HEAD_END)
    if (end < 0) return
    const head = this.#received.toString('latin1', 0, end)
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? NaN)
    if (this.#received.length < end + HEAD_END.length + length) return
    const body = this.#received.subarray(end + HEAD_END.length)
    this.#received = Buffer.alloc(0)
    this.#answered(Number(head.slice(9, 12)), head, body)
  }

  #answered(status: number, head: string, body: Buffer): void {
    const tally = this.#tally()
    const nowMs = performance.now()
    const tookMs = nowMs - this.#sentMs
    this.#sentMs = 0
    if (this.#stopping) {
      this.#socket?.destroy()
      return
    }
    if (status === 200) {
      tally.servedMs.push(tookMs)
      this.#send()
      return
    }
    if (status !== 503) {
      tally.failed += 1
      this.#after(IMPATIENT_MS, () => {
        this.#send()
      })
      return
    }
    tally.refusedMs.push(tookMs)
    tally.lastRefusalMs = nowMs
    const seconds = Number(/\r\nretry-after: *(\d+)\r?/i.exec(`${head}\r`)?.[1] ?? NaN)
    if (!(seconds >= 1 && seconds <= 60) || !isOverloadError(body)) tally.malformed += 1
    const waitMs = this.#manners === 'impatient' ? IMPATIENT_MS : (seconds || 1) * 1000 * (1 + Math.random() / 4)
    this.#after(waitMs, () => {
      this.#send()
    })
  }
}

function isOverloadError(body: Buffer): boolean {
  return (
    body.includes('"service_unavailable"') && body.includes('"GATEWAY_OVERLOADED"') && body.includes('"request_id"')
  )
}

function newTally(): Tally {
  return { servedMs: [], refusedMs: [], malformed: 0, failed: 0, lastRefusalMs: 0 }
}
