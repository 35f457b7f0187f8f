import type { DeadlineClock } from '../../shared/runtime/deadlines.ts'
import { Deadline } from '../../shared/runtime/deadlines.ts'
import type { HeaderList, Responder } from '../../shared/core/exchange.ts'
import { foldedFields, statusLine } from './response-headers.ts'
import type { HttpResponse } from './uws.ts'

/** A client that reads nothing for this long is disconnected. */
const STALL_MS = 15_000
/**
 * The interval at which the timer of uWebSockets.js is reset. That timer disconnects 8 to 12 s after a refused write, even a
 * reader that is only slow: the kernel reports space only when a third of its buffer, often more than a megabyte, is free. It
 * also disconnects uploads below some 32 KB/s.
 */
export const REWIND_MS = 5_000
/**
 * uWebSockets.js gathers up to this much under a cork. A write that does not fit sends the gathered bytes first. If the kernel has
 * no room for all of them, uWebSockets.js drops the write, and the chunk framing of the answer is broken. So the responder writes
 * no more than this under one cork.
 */
const CORK_BYTES = 16_384
/** The size of a chunk and its line ends. */
const FRAMING_BYTES = 16
const MAX_PIECE_BYTES = CORK_BYTES - FRAMING_BYTES
/** Fields that the server adds to a head, and line ends. */
const HEAD_SLACK_BYTES = 256
/** Pieces of a whole answer that goes without a length. */
const ANSWER_PIECE_BYTES = 65_536
/**
 * The rest of a refused body is still read for this long. Closing with unread bytes makes the kernel reset the connection, and
 * a client that is still sending never reads the refusal (RFC 9112 §9.6).
 */
const LINGER_MS = 2_000
/** The largest last chunk that `end` sends itself. A write and the end may share a cork below the 16 KiB cork buffer. */
const LAST_CHUNK_BYTES = 8_192

const EMPTY = Buffer.alloc(0)
const NO_HEADERS: HeaderList = []

export interface ResponderOptions {
  readonly deadlines: DeadlineClock
  readonly headOnly: boolean
  readonly closeAfter: boolean
  /** The headers of every answer. */
  readonly commonHeaders: HeaderList
  /** Called exactly once, when the answer is over, whether complete or not. */
  readonly onOver: () => void
}

type State = 'idle' | 'head' | 'deferred' | 'lingering' | 'streaming' | 'sending' | 'ending' | 'over'

/** The responder under whose cork a step runs. A cork runs its callback at once. */
let corked: UwsResponder | null = null

function underCork(responder: UwsResponder, res: HttpResponse, step: () => void): void {
  const outer = corked
  corked = responder
  res.cork(step)
  corked = outer
}

/**
 * The only code that writes to a uWebSockets.js response. It writes nothing after the end or an abort and no more under a cork than
 * fits, sanitises values, and disconnects stalled readers.
 */
export class UwsResponder implements Responder {
  // Thousands of open streams share these, and have no functions of their own.
  static readonly #sendStep = (): void => {
    if (corked !== null) corked.#corkedSend()
  }
  static readonly #firstWriteStep = (): void => {
    if (corked !== null) corked.#corkedFirstWrite()
  }
  static readonly #writeStep = (): void => {
    if (corked !== null) corked.#corkedWrite()
  }
  static readonly #endStep = (): void => {
    if (corked !== null) corked.#corkedEnd()
  }
  readonly #res: HttpResponse
  readonly #options: ResponderOptions
  /** Made when it is first needed: most readers are never slow. */
  #stall: Deadline | null = null
  #state: State = 'idle'
  #aborted = false
  /** The response object of the server is no longer valid. */
  #gone = false
  #status = 200
  #headers: HeaderList = NO_HEADERS
  /** Of `#headers` and the common ones, as the server takes them; set by `#foldHead`. */
  #fields: ReturnType<typeof foldedFields> = null
  #chunk: Buffer = EMPTY
  /** False from a refused write until the reader has caught up. */
  #accepted = true
  #cutAtMs = Infinity
  #closeAfter: boolean
  /** The client is still sending. */
  #bodyIsComing = false
  #onAbort: (() => void) | null = null
  #onDrain: (() => void) | null = null
  /** Set while a whole answer is sent in pieces. */
  #sending: { body: Buffer; base: number } | null = null

  /** @param res the caller has already wired its `onAborted` to `markAborted` */
  constructor(res: HttpResponse, options: ResponderOptions) {
    this.#res = res
    this.#options = options
    this.#closeAfter = options.closeAfter
  }

  get aborted(): boolean {
    return this.#aborted
  }

  get started(): boolean {
    return this.#state !== 'idle' && this.#state !== 'head'
  }

  /** Closes the connection after this answer. */
  closeAfterwards(): void {
    this.#closeAfter = true
  }

  /** Closes the connection after this answer and after the rest of the body; see `bodyIsOver`. */
  closeAfterBody(): void {
    this.#closeAfter = true
    this.#bodyIsComing = true
  }

  bodyIsOver(): void {
    this.#bodyIsComing = false
    // Not in the parser's turn; see `send`.
    setImmediate(() => {
      if (this.#state === 'lingering') this.#endChunks()
    })
  }

  /** Resets the timer of uWebSockets.js. Does not affect reading. */
  rewindServerTimer(): void {
    if (this.#gone) return
    this.#res.pause()
    this.#res.resume()
  }

  onAbort(listener: () => void): void {
    if (this.#aborted) listener()
    else this.#onAbort = listener
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener
  }

  send(status: number, headers: HeaderList, body: Buffer | string): void {
    if (this.#state !== 'idle' && this.#state !== 'head') return
    this.#status = status
    this.#headers = headers
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    if (this.#closeAfter) {
      // An answer sent while the server is still parsing does not close: the server serves pipelined requests first.
      this.#state = 'deferred'
      setImmediate(() => {
        if (this.#state !== 'deferred') return
        if (this.#bodyIsComing) this.#linger(bytes)
        else this.#sendWhole(bytes)
      })
    } else this.#sendWhole(bytes)
  }

  #sendWhole(bytes: Buffer): void {
    // A larger answer goes out as the reader takes it, and not into the server's unbounded buffer.
    if (this.#foldHead() + bytes.length > CORK_BYTES && !this.#options.headOnly) {
      if (this.#closeAfter) this.#sendInChunks(bytes)
      else this.#sendInPieces(bytes)
      return
    }
    this.#chunk = bytes
    this.#over()
    underCork(this, this.#res, UwsResponder.#sendStep)
    if (this.#options.headOnly && this.#closeAfter && bytes.length > 0) this.#hangUp()
  }

  start(status: number, headers: HeaderList): void {
    if (this.#state !== 'idle') return
    this.#state = 'head'
    this.#status = status
    this.#headers = headers
  }

  write(chunk: Buffer): boolean {
    if (this.#isWhole() || chunk.length === 0 || this.#options.headOnly) return true
    const first = this.#state !== 'streaming'
    this.#state = 'streaming'
    this.#writePieces(chunk, first ? this.#writeFirst(chunk) : 0)
    if (!this.#accepted && !this.#aborted) this.#awaitDrain()
    return this.#accepted
  }

  end(lastChunk: Buffer = EMPTY): void {
    if (this.#isWhole()) return
    let rest = lastChunk
    if (this.#state !== 'streaming' || lastChunk.length > LAST_CHUNK_BYTES) {
      this.write(lastChunk)
      if (this.#aborted) return
      rest = EMPTY
    }
    this.#chunk = rest
    if (!this.#accepted) {
      // After `end` only the server's timer applies, which is too short for the rest of the answer.
      this.#state = 'ending'
      return
    }
    if (this.#state === 'streaming') this.#endChunks()
    else this.#sendWhole(rest)
  }

  destroy(): void {
    if (this.#state !== 'over') this.#res.close()
  }

  /** The connection is gone. */
  markAborted(): void {
    this.#gone = true
    if (this.#state === 'over') return
    this.#aborted = true
    this.#over()
    const listener = this.#onAbort
    this.#onAbort = null
    listener?.()
  }

  /** Whether nothing can be added to the answer. */
  #isWhole(): boolean {
    return this.#state !== 'idle' && this.#state !== 'head' && this.#state !== 'streaming'
  }

  #over(): void {
    this.#state = 'over'
    this.#onDrain = null
    this.#sending = null
    this.#forgetStall()
    this.#options.onOver()
  }

  /** Sends the head, with as much of the body as fits beside it. Returns how much. */
  #writeFirst(chunk: Buffer): number {
    // The first write ends the head: it is never empty.
    const room = Math.max(1, MAX_PIECE_BYTES - this.#foldHead())
    this.#chunk = chunk.subarray(0, room)
    underCork(this, this.#res, UwsResponder.#firstWriteStep)
    return Math.min(room, chunk.length)
  }

  #writePieces(chunk: Buffer, from: number): void {
    let at = from
    // A corked write may run into an abort.
    while (at < chunk.length && !this.#aborted) {
      // An event fits into one piece, and needs no view of it.
      this.#chunk = at === 0 && chunk.length <= MAX_PIECE_BYTES ? chunk : chunk.subarray(at, at + MAX_PIECE_BYTES)
      at += this.#chunk.length
      underCork(this, this.#res, UwsResponder.#writeStep)
    }
  }

  #corkedSend(): void {
    this.#writeHead()
    if (this.#options.headOnly) this.#endHead(this.#chunk.length)
    else this.#res.end(this.#chunk, this.#closeAfter)
    this.#chunk = EMPTY
  }

  /** Ends a HEAD answer. `endWithoutBody` with a length waits for that body for ever: the connection neither serves on nor closes. */
  #endHead(length: number): void {
    if (this.#closeAfter && length > 0) {
      this.#res.writeHeader('Connection', 'close')
      this.#res.tryEnd(EMPTY, length)
    } else if (this.#closeAfter) this.#res.endWithoutBody(0, true)
    else {
      if (length > 0) this.#res.writeHeader('Content-Length', String(length))
      this.#res.endWithoutBody()
    }
  }

  #corkedFirstWrite(): void {
    this.#writeHead()
    if (this.#closeAfter) this.#res.writeHeader('Connection', 'close')
    // A stream may last for minutes, and needs them no more.
    this.#headers = NO_HEADERS
    this.#fields = null
    this.#accepted = this.#res.write(this.#chunk)
    this.#chunk = EMPTY
  }

  #corkedWrite(): void {
    this.#accepted = this.#res.write(this.#chunk)
    this.#chunk = EMPTY
  }

  #corkedEnd(): void {
    if (this.#closeAfter) {
      // With its close argument, `end` writes a header line between the chunks, which clients reject. Without it, the response
      // is gone before it can be closed. So this writes the last chunk itself, with an empty trailer.
      if (this.#chunk.length > 0) this.#res.write(this.#chunk)
      this.#res.writeHeader('\r\n0\r\nX-End', '1\r\n')
    } else if (this.#chunk.length === 0) this.#res.end()
    else this.#res.end(this.#chunk)
    this.#chunk = EMPTY
  }

  #endChunks(): void {
    this.#over()
    underCork(this, this.#res, UwsResponder.#endStep)
    if (this.#closeAfter) this.#hangUp()
  }

  #hangUp(): void {
    if (!this.#gone) this.#res.close()
  }

  #writeHead(): void {
    this.#res.writeStatus(statusLine(this.#status))
    if (this.#fields !== null) this.#res.writeHeader(this.#fields[0], this.#fields[1])
  }

  /** Prepares the head. Returns its size, rounded up. */
  #foldHead(): number {
    this.#fields = foldedFields([this.#options.commonHeaders, this.#headers])
    const [name, value] = this.#fields ?? ['', '']
    return HEAD_SLACK_BYTES + name.length + Buffer.byteLength(value)
  }

  #awaitDrain(): void {
    this.#expectProgress()
    this.#res.onWritable(() => this.#drained())
  }

  #drained(): boolean {
    if (this.#state !== 'streaming' && this.#state !== 'ending') return true
    this.#forgetStall()
    this.#accepted = true
    if (this.#state === 'streaming') this.#onDrain?.()
    else this.#endChunks()
    return true
  }

  /** Disconnects the client unless it reads something within `STALL_MS`. */
  #expectProgress(): void {
    const { deadlines } = this.#options
    this.#cutAtMs = deadlines.nowMs + STALL_MS
    this.#watchStall(deadlines.nowMs + REWIND_MS)
  }

  #watchStall(atMs: number): void {
    this.#stall ??= new Deadline(() => {
      if (this.#state === 'lingering') this.#endChunks()
      else this.#stalled()
    })
    this.#stall.atMs = atMs
    this.#options.deadlines.watch(this.#stall)
  }

  #forgetStall(): void {
    if (this.#stall !== null) this.#options.deadlines.forget(this.#stall)
  }

  #stalled(): void {
    const { nowMs } = this.#options.deadlines
    if (nowMs >= this.#cutAtMs) {
      this.destroy()
      return
    }
    this.rewindServerTimer()
    this.#watchStall(Math.min(this.#cutAtMs, nowMs + REWIND_MS))
  }

  /** Sends all but the end, which `bodyIsOver` or `LINGER_MS` triggers. */
  #linger(bytes: Buffer): void {
    this.#state = 'lingering'
    this.#watchStall(this.#options.deadlines.nowMs + LINGER_MS)
    this.#writePieces(bytes, this.#writeFirst(bytes))
  }

  /** Sends an answer without length: the server drops a response with its last byte, before it can be closed. */
  #sendInChunks(body: Buffer): void {
    this.#state = 'head'
    let at = 0
    const send = (): void => {
      while (at < body.length) {
        const piece = body.subarray(at, at + ANSWER_PIECE_BYTES)
        at += piece.length
        if (!this.write(piece)) return
      }
      this.end()
    }
    this.#onDrain = send
    send()
  }

  #sendInPieces(body: Buffer): void {
    this.#state = 'sending'
    this.#res.cork(() => {
      this.#writeHead()
    })
    this.#sending = { body, base: this.#res.getWriteOffset() }
    this.#res.onWritable((offset) => this.#sendFrom(offset))
    this.#sendFrom(this.#sending.base)
  }

  /** Offers the rest of the answer from the server's write offset on. Returns true when the server took it all. */
  #sendFrom(offset: number): boolean {
    const sending = this.#sending
    if (sending === null) return true
    this.#expectProgress()
    let accepted = true
    let complete = false
    this.#res.cork(() => {
      const rest = sending.body.subarray(offset - sending.base)
      ;[accepted, complete] = this.#res.tryEnd(rest, sending.body.length)
    })
    if (complete && !this.#aborted) {
      this.#over()
    }
    return accepted
  }
}
