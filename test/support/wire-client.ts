import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { eventually } from './eventually.ts'

/** One answer as it was received. */
export interface WireAnswer {
  readonly status: number
  /** Names are in lower case; values of repeated fields are in order. */
  readonly headers: ReadonlyMap<string, readonly string[]>
  readonly body: Buffer
}

export interface WireOptions {
  /** The requests are HEAD: no answer has a body. */
  readonly head?: boolean
}

/**
 * A connection for requests that no HTTP client would send. It writes any bytes and keeps every received byte. Socket errors
 * (RST) end the connection like a FIN.
 */
export class WireClient {
  readonly socket: Socket
  readonly #options: WireOptions
  #received = Buffer.alloc(0)
  #closed = false

  private constructor(socket: Socket, options: WireOptions) {
    this.socket = socket
    this.#options = options
    socket.on('data', (bytes) => {
      this.#received = Buffer.concat([this.#received, bytes])
    })
    socket.on('error', () => undefined)
    const end = (): void => {
      this.#closed = true
    }
    socket.on('end', end)
    socket.on('close', end)
  }

  static async connect(port: number, options: WireOptions = {}): Promise<WireClient> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    const client = new WireClient(socket, options)
    await once(socket, 'connect')
    return client
  }

  /** Sends each character as one byte; the largest is U+00FF. */
  send(bytes: string | Buffer): this {
    this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
    return this
  }

  /** Whether the server has ended the connection. */
  get closed(): boolean {
    return this.#closed
  }

  get text(): string {
    return this.#received.toString('latin1')
  }

  /** The complete answers so far. */
  get answers(): readonly WireAnswer[] {
    return readAnswers(this.#received, this.#options.head ?? false)
  }

  /** Waits until `count` answers are complete, including interim ones. */
  waitFor(count: number, timeoutMs = 20_000): Promise<readonly WireAnswer[]> {
    return eventually(
      () => {
        const { answers } = this
        if (answers.length < count)
          throw new Error(`${answers.length} of ${count} answers: ${JSON.stringify(this.text)}`)
        return answers
      },
      { timeoutMs, everyMs: 5 },
    )
  }

  /** Waits for the end of the connection and returns the answers before it. */
  waitForClose(timeoutMs = 40_000): Promise<readonly WireAnswer[]> {
    return eventually(
      () => {
        if (!this.#closed) throw new Error(`still open: ${JSON.stringify(this.text.slice(0, 2_000))}`)
        return this.answers
      },
      { timeoutMs, everyMs: 5 },
    )
  }

  /** Drops the bytes received so far. */
  forget(): void {
    this.#received = Buffer.alloc(0)
  }

  close(): void {
    this.socket.destroy()
  }
}

/** Sends the bytes on a new connection and reads until the server ends it. */
export async function untilClosed(port: number, bytes: string | Buffer): Promise<readonly WireAnswer[]> {
  const client = await WireClient.connect(port)
  try {
    return await client.send(bytes).waitForClose()
  } finally {
    client.close()
  }
}

/** A head with CRLF line ends, its blank line, and the body. */
export function requestText(requestLine: string, headers: readonly string[], body = ''): string {
  return [requestLine, ...headers, '', body].join('\r\n')
}

function readAnswers(bytes: Buffer, headOnly: boolean): WireAnswer[] {
  const answers: WireAnswer[] = []
  for (let rest = bytes; ;) {
    const end = rest.indexOf('\r\n\r\n')
    if (end === -1) return answers
    const [statusLine = '', ...lines] = rest.toString('latin1', 0, end).split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(`${statusLine} `)?.[1])
    if (Number.isNaN(status)) throw new Error(`not a status line: ${JSON.stringify(statusLine)}`)
    const headers = new Map<string, string[]>()
    for (const line of lines) {
      const colon = line.indexOf(':')
      const name = line.slice(0, colon).toLowerCase()
      headers.set(name, [...(headers.get(name) ?? []), line.slice(colon + 1).trim()])
    }
    const read = readBody(rest.subarray(end + 4), headers, headOnly || status < 200 || status === 204)
    if (read === null) return answers
    answers.push({ status, headers, body: read.body })
    rest = read.rest
  }
}

function readBody(
  bytes: Buffer,
  headers: ReadonlyMap<string, readonly string[]>,
  bodyless: boolean,
): { body: Buffer; rest: Buffer } | null {
  if (bodyless) return { body: Buffer.alloc(0), rest: bytes }
  if (headers.get('transfer-encoding')?.[0] === 'chunked') return readChunks(bytes)
  // Error pages of uWebSockets.js have no length: they end with the connection.
  const length = Number(headers.get('content-length')?.[0] ?? bytes.length)
  return bytes.length < length ? null : { body: bytes.subarray(0, length), rest: bytes.subarray(length) }
}

function readChunks(bytes: Buffer): { body: Buffer; rest: Buffer } | null {
  const pieces: Buffer[] = []
  for (let at = 0; ;) {
    const end = bytes.indexOf('\r\n', at)
    if (end === -1) return null
    const size = Number.parseInt(bytes.toString('latin1', at, end), 16)
    if (Number.isNaN(size)) throw new Error(`not a chunk size: ${JSON.stringify(bytes.toString('latin1', at, end))}`)
    const next = end + 2 + size + 2
    if (size === 0) {
      // The line end after the size begins the blank line, or trailers come before the blank line.
      const blank = bytes.indexOf('\r\n\r\n', end)
      return blank === -1 ? null : { body: Buffer.concat(pieces), rest: bytes.subarray(blank + 4) }
    }
    if (bytes.length < next) return null
    pieces.push(bytes.subarray(end + 2, end + 2 + size))
    at = next
  }
}
