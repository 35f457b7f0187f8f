import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import type { AnswerHead } from './answer-parser.ts'
import { AnswerParser } from './answer-parser.ts'

export interface RawAnswer extends AnswerHead {
  /** Empty where a listener took it. */
  readonly body: Buffer
  readonly chunks: number
  /** Of the request, as the gateway calls it. */
  readonly requestId: string
}

export interface RawPost {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | string
}

export interface RawClientOptions {
  /** Bytes taken from the kernel at a time; 64 KiB by default. */
  readonly readBytes?: number
}

const READ_BYTES = 65_536

/** The connection ended before the answer did. */
export class BrokenOffError extends Error {
  readonly head: AnswerHead | null
  readonly bodyBytes: number

  constructor(head: AnswerHead | null, bodyBytes: number) {
    super(`the connection ended after ${bodyBytes} bytes of the body`)
    this.name = 'BrokenOffError'
    this.head = head
    this.bodyBytes = bodyBytes
  }
}

/**
 * An HTTP client on a bare socket: one request at a time, reading as fast and in as small pieces as it is told to, leaving
 * when it likes. What it does not read stays in the kernel. Every answer is parsed strictly.
 */
export class RawClient {
  readonly socket: Socket
  /** Bytes taken off the wire, heads and framing included. */
  bytesRead = 0
  /** No more requests on this connection. */
  ended = false
  #parser: AnswerParser | null = null
  #settle: ((failure: Error | null) => void) | null = null
  #onRead: (() => void) | null = null

  private constructor(port: number, readBytes: number) {
    const onread = {
      buffer: Buffer.alloc(readBytes),
      callback: (length: number, buffer: Uint8Array): boolean => {
        this.#take(Buffer.from(buffer.buffer, buffer.byteOffset, length))
        return !this.socket.isPaused()
      },
    }
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true, onread })
    this.socket.on('error', () => undefined)
    this.socket.on('end', () => {
      this.#end()
    })
    this.socket.on('close', () => {
      this.#end()
    })
  }

  static async connect(port: number, options: RawClientOptions = {}): Promise<RawClient> {
    const client = new RawClient(port, options.readBytes ?? READ_BYTES)
    await once(client.socket, 'connect')
    return client
  }

  /** Sends a request and reads its answer. Rejects with FramingError or BrokenOffError. */
  post(request: RawPost, onBody?: (piece: Buffer) => void): Promise<RawAnswer> {
    const answer = this.answer(onBody)
    this.send(postBytes(request))
    return answer
  }

  send(bytes: Buffer | string): void {
    this.socket.write(bytes)
  }

  /** The next answer, without sending anything. */
  answer(onBody?: (piece: Buffer) => void): Promise<RawAnswer> {
    const pieces: Buffer[] = []
    const parser = new AnswerParser(onBody ?? ((piece) => pieces.push(Buffer.from(piece))))
    this.#parser = parser
    return new Promise((resolve, reject) => {
      this.#settle = (failure) => {
        this.#settle = null
        const { head, chunks } = parser
        if (failure !== null || head === null) {
          reject(failure ?? new Error('no head'))
          return
        }
        const requestId = head.headers.get('x-request-id') ?? ''
        resolve({ ...head, chunks, requestId, body: Buffer.concat(pieces) })
      }
      if (this.ended) this.#end()
    })
  }

  /** Of the answer under way; null before its head has come. */
  get head(): AnswerHead | null {
    return this.#parser?.head ?? null
  }

  /** Of the answer under way. */
  get bodyBytes(): number {
    return this.#parser?.bodyBytes ?? 0
  }

  /** Called after every read, when what was read has been parsed. */
  onRead(listener: () => void): void {
    this.#onRead = listener
  }

  pause(): void {
    this.socket.pause()
  }

  resume(): void {
    this.socket.resume()
  }

  /** Leaves; the kernel sends FIN, or RST where something was left unread. */
  close(): void {
    this.ended = true
    this.socket.destroy()
  }

  reset(): void {
    this.ended = true
    this.socket.resetAndDestroy()
  }

  #take(bytes: Buffer): void {
    this.bytesRead += bytes.length
    try {
      this.#parser?.feed(bytes)
    } catch (cause) {
      this.close()
      this.#settle?.(cause as Error)
      return
    }
    this.#onRead?.()
    if (this.#parser?.done !== true) return
    if (this.#parser.closes) this.ended = true
    this.#settle?.(null)
  }

  #end(): void {
    this.ended = true
    this.#settle?.(new BrokenOffError(this.head, this.bodyBytes))
  }
}

export function postBytes({ path, headers, body }: RawPost): Buffer {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `POST ${path} HTTP/1.1\r\nhost: gateway\r\ncontent-length: ${bytes.length}\r\n${lines.join('')}\r\n`
  return Buffer.concat([Buffer.from(head), bytes])
}

/** Runs `work` for every item, `lanes` of them at a time, in order. */
export async function inLanes<Item>(
  items: readonly Item[],
  lanes: number,
  work: (item: Item, lane: number) => Promise<void>,
): Promise<void> {
  let next = 0
  const run = async (_: unknown, lane: number): Promise<void> => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await work(item, lane)
  }
  await Promise.all(Array.from({ length: lanes }, run))
}
