import type { Socket } from 'node:net'
import { ChunkedBody } from './chunked-body.ts'
import { parseHead, type RequestHead } from './http-head.ts'

export const MAX_BODY_BYTES = 64 * 1024 * 1024
const MAX_HEAD_BYTES = 64 * 1024
/** Bytes of later requests kept while one is answered. Past it reading stops, and a close of the peer is not seen. */
const MAX_WAITING_BYTES = 1024 * 1024
const HEAD_END = Buffer.from('\r\n\r\n')
const EMPTY = Buffer.alloc(0)

/** Answers the requests of a connection, one at a time. */
export interface RequestHandler<Context> {
  /** The head is complete; the body may be incomplete. */
  onHead(connection: HttpConnection<Context>, head: RequestHead): void
  onRequest(connection: HttpConnection<Context>, head: RequestHead, body: Buffer): void
  /** The peer closed or reset while a request was being read or answered. */
  onPeerClosed(connection: HttpConnection<Context>): void
  /** The socket has sent all written bytes. */
  onDrain(connection: HttpConnection<Context>): void
  /** The socket is closed, by either side. */
  onClose(connection: HttpConnection<Context>): void
}

/** The server's side of one HTTP/1.1 connection. The handler writes every byte of an answer; this class adds none. */
export class HttpConnection<Context> {
  readonly socket: Socket
  /** The handler's state for the current request. */
  context: Context | null = null
  /** The connection is reset when the next request comes. */
  resetsNext = false
  readonly #handler: RequestHandler<Context>
  #waiting: Buffer | null = null
  #head: RequestHead | null = null
  #parts: Buffer[] = []
  #left = 0
  #chunked: ChunkedBody | null = null
  #answering = false
  #reading = false
  #over = false

  constructor(socket: Socket, handler: RequestHandler<Context>) {
    this.socket = socket
    this.#handler = handler
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.on('end', () => this.#peerClosed())
    socket.on('error', () => this.#peerClosed())
    socket.on('drain', () => handler.onDrain(this))
    socket.on('close', () => {
      this.#peerClosed()
      handler.onClose(this)
    })
  }

  get over(): boolean {
    return this.#over
  }

  /** Returns false when the caller must wait for `onDrain` before the next write. */
  write(bytes: string | Buffer, encoding: 'latin1' | 'utf8' = 'utf8'): boolean {
    if (this.#over) return true
    return this.socket.write(bytes, encoding)
  }

  /** Ends the answer. Reads the next request, or closes the connection when either side does not keep it alive. */
  finish(keepAlive: boolean): void {
    if (this.#over) return
    const wished = this.#head?.keepAlive !== false && keepAlive
    this.#head = null
    this.#answering = false
    this.context = null
    if (!wished) {
      this.end()
      return
    }
    if (this.socket.isPaused()) this.socket.resume()
    if (!this.#reading && this.#waiting !== null) this.#read(EMPTY)
  }

  /** Closes the connection after the written bytes have left. */
  end(): void {
    this.#over = true
    this.socket.end()
    this.socket.destroySoon()
  }

  /** Closes the connection now. */
  destroy(): void {
    this.#over = true
    this.socket.destroy()
  }

  /** Sends RST. */
  reset(): void {
    this.#over = true
    this.socket.resetAndDestroy()
  }

  #peerClosed(): void {
    if (this.#over) {
      this.socket.destroy()
      return
    }
    this.#over = true
    this.#waiting = null
    this.#parts = []
    this.#chunked = null
    if (this.#head !== null) this.#handler.onPeerClosed(this)
    this.socket.destroy()
  }

  #read(chunk: Buffer): void {
    if (this.#over) return
    let bytes = this.#waiting === null ? chunk : Buffer.concat([this.#waiting, chunk])
    this.#waiting = null
    this.#reading = true
    while (bytes.length > 0 && !this.#over) {
      if (this.#answering) {
        this.#waiting = bytes
        if (bytes.length > MAX_WAITING_BYTES) this.socket.pause()
        break
      }
      const used = this.#head === null ? this.#readHead(bytes) : this.#readBody(bytes, this.#head)
      if (used === 0) break
      bytes = bytes.subarray(used)
    }
    this.#reading = false
  }

  /** Returns the number of bytes read; 0 when the head is incomplete, or the connection is over. */
  #readHead(bytes: Buffer): number {
    let start = 0
    while (bytes[start] === 13 || bytes[start] === 10) start++
    const end = bytes.indexOf(HEAD_END, start)
    if (end === -1) {
      if (bytes.length > MAX_HEAD_BYTES) this.#refuse(431, 'Request Header Fields Too Large')
      else this.#waiting = bytes
      return 0
    }
    if (this.resetsNext) {
      this.reset()
      return 0
    }
    const head = parseHead(bytes.toString('latin1', start, end))
    if (head === null) {
      this.#refuse(400, 'Bad Request')
      return 0
    }
    this.#head = head
    this.#left = head.contentLength
    this.#chunked = head.contentLength === -1 ? new ChunkedBody() : null
    this.#handler.onHead(this, head)
    if (this.over) return 0
    if (head.contentLength > MAX_BODY_BYTES) {
      this.#refuse(413, 'Content Too Large')
      return 0
    }
    if (head.headers['expect']?.toLowerCase() === '100-continue') this.write('HTTP/1.1 100 Continue\r\n\r\n')
    if (head.contentLength === 0) this.#answer(head, EMPTY)
    return end + 4
  }

  #readBody(bytes: Buffer, head: RequestHead): number {
    if (this.#chunked !== null) return this.#readChunks(bytes, head, this.#chunked)
    const used = Math.min(this.#left, bytes.length)
    this.#left -= used
    if (this.#left === 0 && this.#parts.length === 0) {
      this.#answer(head, bytes.subarray(0, used))
      return used
    }
    this.#parts.push(bytes.subarray(0, used))
    if (this.#left === 0) this.#answer(head, this.#joined(this.#parts))
    return used
  }

  #readChunks(bytes: Buffer, head: RequestHead, body: ChunkedBody): number {
    const end = body.read(bytes, 0)
    if (end === -2) this.#refuse(400, 'Bad Request')
    else if (body.bytes > MAX_BODY_BYTES) this.#refuse(413, 'Content Too Large')
    else if (end !== -1) this.#answer(head, this.#joined(body.parts))
    return end === -1 ? bytes.length : Math.max(0, end)
  }

  #joined(parts: Buffer[]): Buffer {
    this.#parts = []
    this.#chunked = null
    return Buffer.concat(parts)
  }

  #answer(head: RequestHead, body: Buffer): void {
    this.#answering = true
    this.#handler.onRequest(this, head, body)
  }

  #refuse(status: number, reason: string): void {
    this.write(`HTTP/1.1 ${status} ${reason}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`)
    if (this.#head !== null) this.#handler.onPeerClosed(this)
    this.#over = true
    // Destroying with unread input would send RST, which can overtake the answer.
    this.socket.end()
    this.socket.setTimeout(1000, () => this.socket.destroy())
  }
}
