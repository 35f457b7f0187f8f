import type { LookupFunction, Socket } from 'node:net'
import type { Connect } from '../connector.ts'
import type { UpstreamHeaders } from '../upstream-client.ts'
import { HttpFault } from './http-fault.ts'
import { ResponseParser } from './response-parser.ts'
import type { ResponseListener } from './response-parser.ts'

/** One request on a connection, and the listener of its response. */
export interface Exchange {
  /** Head and body as sent on the wire. */
  readonly bytes: readonly Buffer[]
  /** Called when the connection, opened for this request, is established. */
  onConnected(): void
  onHead(status: number, headers: UpstreamHeaders): void
  /** A piece of the body, `bytes[from, to)`, valid until this returns. */
  onBody(bytes: Buffer, from: number, to: number): void
  onComplete(): void
  /** `hasBegun`: at least one byte of the response has arrived. */
  onFailure(error: Error, hasBegun: boolean): void
}

export interface ConnectionOptions {
  readonly host: string
  readonly port: number
  readonly isTls: boolean
  readonly connect: Connect
  readonly lookup: LookupFunction
  /** Called when the response is complete and another request may be sent. */
  readonly onIdle: (connection: Connection) => void
  readonly onClosed: (connection: Connection) => void
}

const READ_BYTES = 65_536
/** All sockets read into this buffer, so that no read allocates. Each read is processed before the next one. */
const shared = Buffer.allocUnsafe(READ_BYTES)

/** A connection to an upstream, with at most one exchange on it. */
export class Connection {
  readonly #options: ConnectionOptions
  readonly #socket: Socket
  readonly #listener: ResponseListener = {
    onHead: (status, headers) => this.#exchange?.onHead(status, headers),
    onBody: (bytes, from, to) => this.#exchange?.onBody(bytes, from, to),
    onComplete: (keepAlive) => {
      this.#complete(keepAlive)
    },
  }
  #exchange: Exchange | null = null
  #parser: ResponseParser | null = null
  #hasBegun = false
  #served = 0
  #isClosed = false
  #error: Error | null = null

  constructor(options: ConnectionOptions) {
    this.#options = options
    const { host, port, isTls, connect, lookup } = options
    this.#socket = connect({
      host,
      port,
      isTls,
      lookup,
      noDelay: true,
      onread: {
        buffer: shared,
        callback: (length: number): boolean => {
          this.#read(length)
          return true
        },
      },
    })
    this.#socket.on(isTls ? 'secureConnect' : 'connect', () => {
      this.#exchange?.onConnected()
    })
    this.#socket.on('end', () => {
      this.#ended()
    })
    this.#socket.on('error', (error) => {
      this.#error = error
    })
    this.#socket.on('close', () => {
      this.#close(this.#error ?? Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' }))
    })
  }

  /** Whether it has carried a whole response before. If so, a reset may mean that the server had just closed it as idle. */
  get isReused(): boolean {
    return this.#served > 0
  }

  send(exchange: Exchange): void {
    this.#exchange = exchange
    this.#hasBegun = false
    this.#parser = new ResponseParser(this.#listener)
    for (const bytes of exchange.bytes) this.#socket.write(bytes)
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  /** Closes the connection without calling its exchange. */
  destroy(): void {
    this.#exchange = null
    this.#socket.destroy()
    this.#close(null)
  }

  /** Reads the first `length` bytes of the shared buffer. */
  #read(length: number): void {
    const parser = this.#parser
    if (parser === null) {
      this.#fail(new HttpFault('bytes on an idle connection'))
      return
    }
    this.#hasBegun = true
    try {
      const taken = parser.push(shared, length)
      // Bytes after a response could be taken for the answer to the next request, which may be sent by now.
      if (taken < length) throw new HttpFault('bytes after the end of the response')
    } catch (cause) {
      this.#fail(cause as Error)
    }
  }

  /** The server has closed its side: it sends nothing more. */
  #ended(): void {
    const parser = this.#parser
    if (parser === null || this.#exchange === null) return
    if (!parser.hasHead) {
      this.#fail(Object.assign(new Error('the connection was closed without a response'), { code: 'ECONNRESET' }))
      return
    }
    try {
      parser.end()
    } catch (cause) {
      this.#fail(cause as Error)
    }
  }

  #complete(keepAlive: boolean): void {
    const exchange = this.#exchange
    if (exchange === null) return
    this.#exchange = null
    this.#parser = null
    this.#served += 1
    // When a response completes before its request is sent, the server would read the rest of it as the next request.
    if (keepAlive && this.#socket.writableLength === 0 && !this.#socket.destroyed) {
      this.#socket.resume()
      this.#options.onIdle(this)
    } else this.#socket.destroy()
    exchange.onComplete()
  }

  #fail(error: Error): void {
    this.#socket.destroy()
    this.#close(error)
  }

  #close(error: Error | null): void {
    const exchange = this.#exchange
    this.#exchange = null
    this.#parser = null
    if (!this.#isClosed) {
      this.#isClosed = true
      this.#options.onClosed(this)
    }
    if (exchange !== null && error !== null) exchange.onFailure(error, this.#hasBegun)
  }
}
