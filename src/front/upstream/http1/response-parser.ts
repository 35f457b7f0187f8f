import { emptyFields } from '../../../shared/runtime/fields.ts'
import type { UpstreamHeaders } from '../upstream-client.ts'
import { ChunkedDecoder } from './chunked-decoder.ts'
import { HttpFault } from './http-fault.ts'

/** Gets one response. `keepAlive`: the connection may carry another request. */
export interface ResponseListener {
  onHead(status: number, headers: UpstreamHeaders): void
  /** A piece of the body, `bytes[from, to)`, valid until this returns. */
  onBody(bytes: Buffer, from: number, to: number): void
  onComplete(keepAlive: boolean): void
}

const MAX_HEAD_BYTES = 65_536
const HEAD_END = Buffer.from('\r\n\r\n')
const LINE_END = '\r\n'
// eslint-disable-next-line no-control-regex -- a head must not contain these
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [^\x00-\x08\x0a-\x1f\x7f]*)?$/
const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const PLAIN_LENGTH = /^\d{1,15}$/

type Body = 'none' | 'length' | 'chunked' | 'until-close'

/**
 * Reads one HTTP/1.1 response (RFC 9112) from pieces of any size. It is strict: lines end in CR LF, folded lines are refused, and
 * ambiguous framing is an error, never a guess. Use a new parser for each response.
 */
export class ResponseParser {
  readonly #listener: ResponseListener
  #head: Buffer | null = null
  #body: Body | null = null
  #keepAlive = true
  #missing = 0
  #chunks: ChunkedDecoder | null = null
  #complete = false

  constructor(listener: ResponseListener) {
    this.#listener = listener
  }

  get isComplete(): boolean {
    return this.#complete
  }

  /** Whether the final head has arrived. */
  get hasHead(): boolean {
    return this.#body !== null
  }

  /**
   * Takes the next bytes, `bytes[0, length)`. May overwrite those it has taken, and keeps no reference to them. Returns how many
   * belong to this response: fewer than given when it ends among them. Throws HttpFault when they are not a valid response.
   */
  push(bytes: Buffer, length: number): number {
    let at = 0
    while (!this.#complete && at < length) {
      at += this.#body === null ? this.#pushHead(bytes.subarray(at, length)) : this.#pushBody(bytes, at, length)
    }
    return at
  }

  /** The sender has closed. Throws HttpFault when the response is incomplete. */
  end(): void {
    if (this.#complete) return
    if (this.#body !== 'until-close') throw new HttpFault('the connection was closed within the response')
    this.#finish()
  }

  #pushHead(bytes: Buffer): number {
    const earlier = this.#head
    const head = earlier === null ? bytes : Buffer.concat([earlier, bytes])
    // The end of the head may be split over two pieces.
    const searchFrom = earlier === null ? 0 : Math.max(0, earlier.length - HEAD_END.length + 1)
    const end = head.indexOf(HEAD_END, searchFrom)
    if (end === -1) {
      if (head.length > MAX_HEAD_BYTES) throw new HttpFault(`the head has more than ${MAX_HEAD_BYTES} bytes`)
      refuseNonHttp(head)
      this.#head = Buffer.from(head)
      return bytes.length
    }
    if (end > MAX_HEAD_BYTES) throw new HttpFault(`the head has more than ${MAX_HEAD_BYTES} bytes`)
    this.#head = null
    this.#readHead(head, end)
    return end + HEAD_END.length - (earlier?.length ?? 0)
  }

  #readHead(bytes: Buffer, length: number): void {
    const text = bytes.toString('latin1', 0, length)
    const firstLineEnd = text.indexOf(LINE_END)
    const end = firstLineEnd === -1 ? text.length : firstLineEnd
    const statusLine = STATUS_LINE.exec(text.slice(0, end))
    if (statusLine === null) throw new HttpFault('the response does not begin with an HTTP/1.x status line')
    const status = Number(statusLine[2])
    const headers = readFields(bytes, text, end)
    if (status === 101) throw new HttpFault('the server switches protocols without a request to do so')
    // Other 1xx responses come before the final response.
    if (status < 200) return
    this.#keepAlive = isPersistent(statusLine[1] === '1', headers['connection'])
    this.#body = this.#bodyOf(status, headers)
    this.#listener.onHead(status, headers)
    if (this.#body === 'none') this.#finish()
  }

  /** The framing of the body, by RFC 9112 §6.3. */
  #bodyOf(status: number, headers: UpstreamHeaders): Body {
    const length = contentLength(headers['content-length'])
    const coding = headers['transfer-encoding']
    if (status === 204 || status === 304) return 'none'
    if (coding !== undefined) {
      if (typeof coding !== 'string' || coding.trim().toLowerCase() !== 'chunked') {
        throw new HttpFault('Transfer-Encoding is not chunked')
      }
      // A proxy on the way may use the Content-Length instead, so the connection must not carry another request.
      if (length !== null) this.#keepAlive = false
      this.#chunks = new ChunkedDecoder((bytes, from, to) => {
        this.#listener.onBody(bytes, from, to)
      })
      return 'chunked'
    }
    if (length === null) {
      this.#keepAlive = false
      return 'until-close'
    }
    this.#missing = length
    return length === 0 ? 'none' : 'length'
  }

  #pushBody(bytes: Buffer, from: number, to: number): number {
    if (this.#chunks !== null) {
      const taken = this.#chunks.push(bytes, from, to)
      if (this.#chunks.isComplete) this.#finish()
      return taken
    }
    const available = to - from
    const taken = this.#body === 'until-close' ? available : Math.min(available, this.#missing)
    this.#missing -= taken
    this.#listener.onBody(bytes, from, from + taken)
    if (this.#body === 'length' && this.#missing === 0) this.#finish()
    return taken
  }

  #finish(): void {
    this.#complete = true
    this.#listener.onComplete(this.#keepAlive)
  }
}

/** Refuses bytes that cannot begin a status line, before they fill `MAX_HEAD_BYTES`. */
function refuseNonHttp(head: Buffer): void {
  const start = head.toString('latin1', 0, 7)
  if (!'HTTP/1.'.startsWith(start)) throw new HttpFault('the response does not begin with an HTTP/1.x status line')
}

const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const BLANK = 0x20
const COLON = 0x3a
const DEL = 0x7f

/**
 * The fields of a head, from the end of its first line on. Refuses a single CR or LF: parsers disagree whether it ends a line.
 * @param bytes begins with the bytes of `head`: reading single bytes from it is several times as fast
 */
function readFields(bytes: Buffer, head: string, from: number): UpstreamHeaders {
  const fields = emptyFields<string | string[]>()
  for (let at = from; at < head.length;) {
    const start = at + LINE_END.length
    let colon = start
    let hash = 0
    for (let code = byteAt(bytes, colon); code !== COLON; code = byteAt(bytes, ++colon)) {
      if (code <= BLANK || code >= DEL) throw new HttpFault('a malformed header field')
      hash = (Math.imul(hash, 31) + code) | 0
    }
    at = valueEnd(bytes, colon + 1, head.length)
    const value = trimmed(bytes, head, colon + 1, at)
    const key = fieldKey(head, start, colon, hash)
    const before = fields[key]
    if (before === undefined) fields[key] = value
    else fields[key] = Array.isArray(before) ? [...before, value] : [before, value]
  }
  return fields
}

function valueEnd(bytes: Buffer, start: number, headEnd: number): number {
  let end = start
  for (; end < headEnd; end++) {
    const code = byteAt(bytes, end)
    if ((code < BLANK && code !== TAB) || code === DEL) break
  }
  const isLineEnd = end === headEnd || (bytes[end] === CR && bytes[end + 1] === LF)
  if (!isLineEnd) throw new HttpFault('a malformed header field')
  return end
}

/** The value without the spaces and tabs around it. */
function trimmed(bytes: Buffer, head: string, from: number, to: number): string {
  let start = from
  let end = to
  while (start < end && isBlank(byteAt(bytes, start))) start += 1
  while (end > start && isBlank(byteAt(bytes, end - 1))) end -= 1
  return head.slice(start, end)
}

function byteAt(bytes: Buffer, index: number): number {
  return bytes[index] as number
}

function isBlank(code: number): boolean {
  return code === BLANK || code === TAB
}

/** Cache by hash of field names, as received and in lower case: a server always sends the same ones. */
const fieldKeys: ({ readonly name: string; readonly key: string } | undefined)[] = []
const FIELD_KEYS = 512
for (let slot = 0; slot < FIELD_KEYS; slot++) fieldKeys.push(undefined)

function fieldKey(head: string, start: number, end: number, hash: number): string {
  const slot = hash & (FIELD_KEYS - 1)
  const known = fieldKeys[slot]
  if (known !== undefined && known.name.length === end - start && head.startsWith(known.name, start)) return known.key
  // A copy, because a slice would keep the whole head in memory.
  const name = copied(head.slice(start, end))
  if (!FIELD_NAME.test(name)) throw new HttpFault('a malformed header field')
  const key = name.toLowerCase()
  fieldKeys[slot] = { name, key }
  return key
}

function copied(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}

/** The Content-Length. Repeated values must be equal. */
function contentLength(value: string | string[] | undefined): number | null {
  if (value === undefined) return null
  if (typeof value === 'string' && PLAIN_LENGTH.test(value)) return Number(value)
  const values = (Array.isArray(value) ? value : [value]).flatMap((one) => one.split(',').map((part) => part.trim()))
  const [first = ''] = values
  if (!PLAIN_LENGTH.test(first) || values.some((other) => other !== first)) {
    throw new HttpFault('Content-Length is not a number, or has different values')
  }
  return Number(first)
}

function isPersistent(isHttp11: boolean, connection: string | string[] | undefined): boolean {
  if (connection === undefined) return isHttp11
  if (connection === 'keep-alive') return true
  const options = String(connection).toLowerCase().split(',')
  const has = (name: string): boolean => options.some((option) => option.trim() === name)
  return !has('close') && (isHttp11 || has('keep-alive'))
}
