import { connect, type Socket } from 'node:net'

export type Ending = 'open' | 'fin' | 'reset'

/** A socket whose every byte and ending a test sees. */
export class RawClient {
  readonly socket: Socket
  readonly pieces: Buffer[] = []
  ending: Ending = 'open'
  #watchers = new Set<() => void>()

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', allowHalfOpen: false })
    this.socket.setNoDelay(true)
    this.socket.on('data', (piece: Buffer) => {
      this.pieces.push(piece)
      this.#wake()
    })
    this.socket.on('end', () => {
      this.ending = 'fin'
      this.#wake()
    })
    this.socket.on('error', () => {
      this.ending = 'reset'
      this.#wake()
    })
    this.socket.on('close', () => {
      if (this.ending === 'open') this.ending = 'fin'
      this.#wake()
    })
  }

  get bytes(): Buffer {
    return Buffer.concat(this.pieces)
  }

  get text(): string {
    return this.bytes.toString('utf8')
  }

  /** Head and body as they stand on the wire. */
  get head(): string {
    return this.text.slice(0, this.text.indexOf('\r\n\r\n'))
  }

  get body(): string {
    return this.text.slice(this.text.indexOf('\r\n\r\n') + 4)
  }

  send(bytes: string | Buffer): this {
    this.socket.write(bytes)
    return this
  }

  /** A POST with a JSON body. */
  post(path: string, body: unknown, headers: Record<string, string> = {}): this {
    const json = JSON.stringify(body)
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const length = Buffer.byteLength(json)
    return this.send(`POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n${lines.join('')}\r\n${json}`)
  }

  until(condition: (client: this) => boolean): Promise<this> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!condition(this)) return
        this.#watchers.delete(look)
        resolve(this)
      }
      this.#watchers.add(look)
      look()
    })
  }

  ended(): Promise<this> {
    return this.until((client) => client.ending !== 'open')
  }

  close(): void {
    this.socket.destroy()
  }

  #wake(): void {
    for (const look of [...this.#watchers]) look()
  }
}

export interface DecodedChunks {
  readonly body: string
  /** The last chunk was there. */
  readonly whole: boolean
  /** Bytes behind the last chunk. */
  readonly rest: string
}

/** Takes a chunked body apart as strictly as the RFC. */
export function decodeChunks(bytes: Buffer): DecodedChunks {
  const parts: Buffer[] = []
  let at = 0
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd === -1) break
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16)
    const start = lineEnd + 2
    if (Number.isNaN(size)) throw new Error(`bad chunk size at ${at}`)
    if (size === 0) return { body: String(Buffer.concat(parts)), whole: true, rest: String(bytes.subarray(start + 2)) }
    if (start + size + 2 > bytes.length) break
    if (bytes.toString('latin1', start + size, start + size + 2) !== '\r\n') throw new Error(`bad chunk end at ${at}`)
    parts.push(bytes.subarray(start, start + size))
    at = start + size + 2
  }
  return { body: String(Buffer.concat(parts)), whole: false, rest: '' }
}

/** The decoded body of a chunked answer that a client has seen so far. */
export function chunksOf(client: RawClient): DecodedChunks {
  const { bytes } = client
  return decodeChunks(bytes.subarray(bytes.indexOf('\r\n\r\n') + 4))
}

export interface SseEvent {
  readonly event: string | null
  readonly data: string
}

/** Events of a stream's text; comments and what is not ended are left out. */
export function eventsOf(text: string): SseEvent[] {
  const events: SseEvent[] = []
  for (const block of text.replaceAll('\r\n', '\n').split('\n\n').slice(0, -1)) {
    const lines = block.split('\n')
    const data = lines.filter((line) => line.startsWith('data: ')).map((line) => line.slice(6))
    if (data.length === 0) continue
    const event = lines.find((line) => line.startsWith('event: '))
    events.push({ event: event === undefined ? null : event.slice(7), data: data.join('\n') })
  }
  return events
}
