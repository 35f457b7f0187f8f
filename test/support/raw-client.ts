import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import type { AnswerHead } from './answer-parser.ts'
import { AnswerParser } from './answer-parser.ts'

export interface RawAnswer extends AnswerHead {
  /** Empty when a listener read the body. */
  readonly body: Buffer
  readonly chunks: number
  /** The gateway's id of the request. */
  readonly requestId: string
}

export interface RawPost {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | string
}

export interface RawClientOptions {
  /** Bytes read from the kernel at a time; 64 KiB by default. */
  readonly readBytes?: number
}

const READ_BYTES = 65_536

/** The connection ended before the answer was complete. */
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
 * An HTTP client on a raw socket, with one request at a time. A test sets how fast and in how small pieces it reads, and when it
 * leaves. Unread bytes stay in the kernel. Every answer is parsed strictly.
 */
export class RawClient {
  readonly socket: Socket
  /** Bytes read, including heads and framing. */
  bytesRead = 0
  /** The connection takes no more requests. */
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

  /** Reads the next answer without sending a request. */
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

  /** Head of the current answer; null before it is complete. */
  get head(): AnswerHead | null {
    return this.#parser?.head ?? null
  }

  /** Body bytes of the current answer so far. */
  get bodyBytes(): number {
    return this.#parser?.bodyBytes ?? 0
  }

  /** The listener is called after every read, when the bytes have been parsed. */
  onRead(listener: () => void): void {
    this.#onRead = listener
  }

  pause(): void {
    this.socket.pause()
  }

  resume(): void {
    this.socket.resume()
  }

  /** Closes the connection; the kernel sends FIN, or RST when bytes are unread. */
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
      if (cause instanceof Error) cause.message += ` (${this.#parser?.place ?? ''}, a read of ${bytes.length} bytes)`
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

/** Runs `work` for every item in order, `lanes` at a time. */
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
