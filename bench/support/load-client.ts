import { connect } from 'node:net'
import type { Socket } from 'node:net'

/*
 * A load generator that costs a few microseconds per answer, so that the programs under load get the machine. It parses just
 * enough HTTP/1.1 for complete, well-formed answers; `check.ts` proves first that the answers are.
 */
const HEAD_END = Buffer.from('\r\n\r\n')
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n')
const EVENT = Buffer.from('data: ')

export interface LoadTarget {
  /** `http://host:port/v1` */
  readonly baseUrl: string
  readonly headers: Readonly<Record<string, string>>
  /** Path below the base URL; default: `/chat/completions`. */
  readonly path?: string
}

export interface Answered {
  readonly ok: boolean
  /** Milliseconds from the last byte of the request to the first byte of the body; `totalMs`: to its end. */
  readonly firstByteMs: number
  readonly totalMs: number
  readonly events: number
  readonly requestId: string
}

/** One kept-alive connection that carries one request at a time. */
export class LoadConnection {
  readonly #socket: Socket
  readonly #request: Buffer
  #then: ((answered: Answered) => void) | null = null
  #startMs = 0
  #firstByteMs = 0
  #events = 0
  #ok = false
  #requestId = ''
  /** Bytes left of a body with a length; -1 before the head is complete, and for a chunked body. */
  #left = -1
  #chunked = false
  #rest: Buffer | null = null
  /** The last bytes received: the last chunk may have begun there. */
  #tail: Buffer = Buffer.alloc(0)

  private constructor(socket: Socket, request: Buffer) {
    this.#socket = socket
    this.#request = request
    socket.on('data', (chunk: Buffer) => {
      this.#read(chunk)
    })
    socket.on('error', () => {
      this.#finish(false)
    })
    socket.on('close', () => {
      this.#finish(false)
    })
  }

  static open(target: LoadTarget, body: string): Promise<LoadConnection> {
    const url = new URL(`${target.baseUrl}${target.path ?? '/chat/completions'}`)
    const lines = Object.entries({ 'content-type': 'application/json', ...target.headers, host: url.host })
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    const request = Buffer.from(
      `POST ${url.pathname} HTTP/1.1\r\n${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
    return new Promise((resolve, reject) => {
      const socket = connect({ port: Number(url.port), host: url.hostname, noDelay: true })
      socket.once('error', reject)
      socket.once('connect', () => {
        socket.off('error', reject)
        resolve(new LoadConnection(socket, request))
      })
    })
  }

  /** Sends the request; calls `then` at the end of its answer. */
  send(then: (answered: Answered) => void): void {
    this.#then = then
    this.#left = -1
    this.#chunked = false
    this.#events = 0
    this.#firstByteMs = 0
    this.#startMs = performance.now()
    if (this.#socket.destroyed)
      setImmediate(() => {
        this.#finish(false)
      })
    else this.#socket.write(this.#request)
  }

  close(): void {
    this.#socket.destroy()
  }

  #read(chunk: Buffer): void {
    let body = chunk
    if (this.#left === -1 && !this.#chunked) {
      const bytes = this.#rest === null ? chunk : Buffer.concat([this.#rest, chunk])
      const end = bytes.indexOf(HEAD_END)
      this.#rest = end === -1 ? bytes : null
      if (end === -1) return
      this.#readHead(bytes.toString('latin1', 0, end).toLowerCase())
      body = bytes.subarray(end + HEAD_END.length)
    }
    if (body.length > 0 && this.#firstByteMs === 0) this.#firstByteMs = performance.now()
    if (this.#chunked) this.#readChunks(body)
    else {
      this.#left -= body.length
      if (this.#left <= 0) this.#finish(this.#ok && this.#left === 0)
    }
  }

  #readHead(head: string): void {
    this.#ok = head.startsWith('http/1.1 200')
    this.#requestId = /\nx-request-id: (\S+)/.exec(head)?.[1] ?? ''
    this.#chunked = head.includes('transfer-encoding: chunked')
    this.#left = this.#chunked ? -1 : Number(/\ncontent-length: (\d+)/.exec(head)?.[1] ?? 0)
    this.#tail = Buffer.alloc(0)
  }

  #readChunks(body: Buffer): void {
    for (let at = body.indexOf(EVENT); at !== -1; at = body.indexOf(EVENT, at + EVENT.length)) this.#events++
    const tail = body.length >= LAST_CHUNK.length ? body : Buffer.concat([this.#tail, body])
    this.#tail = tail.subarray(Math.max(0, tail.length - LAST_CHUNK.length))
    if (this.#tail.equals(LAST_CHUNK)) this.#finish(this.#ok)
  }

  #finish(ok: boolean): void {
    const then = this.#then
    this.#then = null
    const endMs = performance.now()
    then?.({
      ok,
      firstByteMs: this.#firstByteMs - this.#startMs,
      totalMs: endMs - this.#startMs,
      events: this.#events,
      requestId: this.#requestId,
    })
  }
}

export interface LoadResult {
  readonly requests: number
  readonly events: number
  readonly errors: number
  readonly seconds: number
  readonly firstByteMs: readonly number[]
  readonly totalMs: readonly number[]
  /** Request id of the last answer. */
  readonly lastRequestId: string
}

export interface LoadOptions {
  readonly body: string
  readonly connections: number
  readonly seconds: number
  /** The connections start one after the other within this time. */
  readonly spreadMs: number
  /** Answers that are not complete so long after `seconds` are cut off, and count as errors. Default: they are waited for. */
  readonly graceMs?: number
}

/** Loads a target: each connection sends the next request after its answer. Resolves when the last answer has ended. */
export async function load(target: LoadTarget, options: LoadOptions): Promise<LoadResult> {
  const connections = await Promise.all(
    Array.from({ length: options.connections }, () => LoadConnection.open(target, options.body)),
  )
  const seen = { requests: 0, events: 0, errors: 0, firstByteMs: [] as number[], totalMs: [] as number[] }
  let lastRequestId = ''
  const startMs = performance.now()
  const endMs = startMs + options.seconds * 1000
  const note = (answered: Answered): void => {
    if (!answered.ok) seen.errors++
    seen.requests++
    seen.events += answered.events
    seen.firstByteMs.push(answered.firstByteMs)
    seen.totalMs.push(answered.totalMs)
    lastRequestId = answered.requestId
  }
  const cut = options.graceMs === undefined ? undefined : setTimeout(closeAll, options.seconds * 1000 + options.graceMs)
  await Promise.all(connections.map((connection, index) => repeat(connection, index)))
  clearTimeout(cut)
  closeAll()
  return { ...seen, seconds: (performance.now() - startMs) / 1000, lastRequestId }

  function closeAll(): void {
    for (const connection of connections) connection.close()
  }

  function repeat(connection: LoadConnection, index: number): Promise<void> {
    return new Promise((resolve) => {
      const next = (): void => {
        connection.send((answered) => {
          note(answered)
          if (answered.ok && performance.now() < endMs) next()
          else resolve()
        })
      }
      setTimeout(next, (options.spreadMs * index) / options.connections)
    })
  }
}
