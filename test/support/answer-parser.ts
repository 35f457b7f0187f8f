/** RFC 9112 does not allow a server to send these bytes. */
export class FramingError extends Error {
  constructor(message: string, offset: number) {
    super(`${message} at byte ${offset} of the answer`)
    this.name = 'FramingError'
  }
}

export interface AnswerHead {
  readonly status: number
  /** Names are in lower case. */
  readonly headers: ReadonlyMap<string, string>
}

const MAX_HEAD_BYTES = 65_536
const MAX_SIZE_DIGITS = 8
const HEADER_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+): ([\t\x20-\x7e]*)$/
const CR = 0x0d
const LF = 0x0a
const NONE = Buffer.alloc(0)

type Place = 'head' | 'length' | 'size' | 'size-lf' | 'data' | 'data-cr' | 'data-lf' | 'end-cr' | 'end-lf' | 'done'

/**
 * Reads one answer piece by piece, as strictly as the RFC allows a client to be: no chunk extensions, no trailers, no bare line
 * ends, no bytes after the end. Throws FramingError at the first wrong byte.
 */
export class AnswerParser {
  head: AnswerHead | null = null
  /** Number of chunks with data. */
  chunks = 0
  bodyBytes = 0
  readonly #onBody: (piece: Buffer) => void
  #place: Place = 'head'
  #headBytes: Buffer = NONE
  #left = 0
  /** Of the present chunk. */
  #chunkBytes = 0
  #digits = 0
  #offset = 0

  /** @param onBody gets parts of the body, which are valid only during the call */
  constructor(onBody: (piece: Buffer) => void) {
    this.#onBody = onBody
  }

  get done(): boolean {
    return this.#place === 'done'
  }

  /** Whether the answer ends the connection. */
  get closes(): boolean {
    return this.head?.headers.get('connection')?.toLowerCase() === 'close'
  }

  /** Where the bytes stand that `onBody` has now: told of a wrong one, it tells who framed it. */
  get place(): string {
    return `chunk ${this.chunks} of ${this.#chunkBytes} bytes, ${this.#left} to come behind this piece`
  }

  feed(bytes: Buffer): void {
    let at = this.#place === 'head' ? this.#takeHead(bytes) : 0
    while (at < bytes.length) {
      const taken = this.#take(bytes, at)
      at += taken
      this.#offset += taken
    }
  }

  #take(bytes: Buffer, at: number): number {
    const byte = bytes[at] ?? 0
    switch (this.#place) {
      case 'length':
      case 'data':
        return this.#takeData(bytes, at)
      case 'size':
        this.#takeSize(byte)
        return 1
      case 'size-lf':
        this.#expect(byte, LF, this.#left === 0 ? 'end-cr' : 'data')
        if (this.#left > 0) this.chunks++
        this.#chunkBytes = this.#left
        return 1
      case 'data-cr':
        this.#expect(byte, CR, 'data-lf')
        return 1
      case 'data-lf':
        this.#expect(byte, LF, 'size')
        return 1
      case 'end-cr':
        this.#expect(byte, CR, 'end-lf')
        return 1
      case 'end-lf':
        this.#expect(byte, LF, 'done')
        return 1
      case 'done':
        throw new FramingError(`${bytes.length - at} bytes behind the end`, this.#offset)
      case 'head':
        throw new FramingError('an unfinished head', this.#offset)
    }
  }

  #takeData(bytes: Buffer, at: number): number {
    const length = Math.min(this.#left, bytes.length - at)
    this.#left -= length
    this.bodyBytes += length
    if (this.#left === 0) this.#place = this.#place === 'length' ? 'done' : 'data-cr'
    this.#onBody(bytes.subarray(at, at + length))
    return length
  }

  #takeSize(byte: number): void {
    if (byte === CR && this.#digits > 0) {
      this.#place = 'size-lf'
      this.#digits = 0
      return
    }
    const digit = Number.parseInt(String.fromCharCode(byte), 16)
    if (Number.isNaN(digit) || ++this.#digits > MAX_SIZE_DIGITS)
      throw new FramingError('a bad chunk size', this.#offset)
    this.#left = (this.#digits === 1 ? 0 : this.#left) * 16 + digit
  }

  #expect(byte: number, wanted: number, next: Place): void {
    if (byte !== wanted) throw new FramingError(`${byte} instead of ${wanted} (${this.#place})`, this.#offset)
    this.#place = next
  }

  /** Returns the offset of the body in `bytes`; the length of `bytes` while the head is incomplete. */
  #takeHead(bytes: Buffer): number {
    const before = this.#headBytes.length
    const all = Buffer.concat([this.#headBytes, bytes])
    const end = all.indexOf('\r\n\r\n')
    if (end === -1) {
      if (all.length > MAX_HEAD_BYTES) throw new FramingError('an endless head', all.length)
      this.#headBytes = all
      return bytes.length
    }
    this.#headBytes = NONE
    this.#offset = end + 4
    this.head = readHead(all.toString('latin1', 0, end))
    this.#beginBody(this.head)
    return end + 4 - before
  }

  #beginBody({ headers }: AnswerHead): void {
    const length = headers.get('content-length')
    const encoding = headers.get('transfer-encoding')
    if ((length === undefined) === (encoding === undefined)) throw new FramingError('no framing, or two', this.#offset)
    if (encoding !== undefined && encoding !== 'chunked') throw new FramingError(`encoding ${encoding}`, this.#offset)
    if (length !== undefined && !/^\d+$/.test(length)) throw new FramingError(`length ${length}`, this.#offset)
    this.#left = Number(length ?? 0)
    this.#place = length === undefined ? 'size' : this.#left > 0 ? 'length' : 'done'
  }
}

function readHead(text: string): AnswerHead {
  const [statusLine = '', ...lines] = text.split('\r\n')
  const status = /^HTTP\/1\.1 (\d{3}) [\x20-\x7e]*$/.exec(statusLine)?.[1]
  if (status === undefined) throw new FramingError(`status line ${JSON.stringify(statusLine)}`, 0)
  const headers = new Map<string, string>()
  for (const line of lines) {
    const [, name, value] = HEADER_LINE.exec(line) ?? []
    if (name === undefined || value === undefined) throw new FramingError(`header line ${JSON.stringify(line)}`, 0)
    if (headers.has(name.toLowerCase())) throw new FramingError(`a second ${name}`, 0)
    headers.set(name.toLowerCase(), value)
  }
  return { status: Number(status), headers }
}
