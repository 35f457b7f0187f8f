import type { Behaviour } from './behaviour.ts'
import type { RequestHead } from './http-head.ts'
import type { HttpConnection } from './http-connection.ts'
import type { Ledger, OpenRequest, Outcome } from './ledger.ts'
import type { Pacer, Resumable } from './pacer.ts'
import type { RequestLogEntry } from './request-log.ts'

/** Delay that lets written bytes leave before the reset. */
const RESET_DELAY_MS = 10

export interface ExchangeParts {
  readonly connection: HttpConnection<Exchange>
  readonly head: RequestHead
  readonly ledger: Ledger
  readonly pacer: Pacer
  readonly record: OpenRequest
  readonly logEntry: RequestLogEntry
}

/** One counted request: counts the written answer and the outcome. Ends once; later calls do nothing. */
export class Exchange implements Resumable {
  readonly connection: HttpConnection<Exchange>
  readonly head: RequestHead
  readonly ledger: Ledger
  readonly pacer: Pacer
  readonly record: OpenRequest
  readonly logEntry: RequestLogEntry
  behaviour: Behaviour = {}
  /** Writes the answer; resumed by the pacer, and when the socket has drained. */
  player: Resumable | null = null
  waitsForDrain = false
  #over = false
  #resetting = false

  constructor(parts: ExchangeParts) {
    this.connection = parts.connection
    this.head = parts.head
    this.ledger = parts.ledger
    this.pacer = parts.pacer
    this.record = parts.record
    this.logEntry = parts.logEntry
  }

  get over(): boolean {
    return this.#over
  }

  /** Returns false when the player must stop until it is resumed. */
  write(bytes: string | Buffer, events = 0): boolean {
    if (this.#over) return false
    const length = typeof bytes === 'string' ? Buffer.byteLength(bytes) : bytes.length
    this.ledger.wrote(this.record, length, events)
    // For ASCII, Latin-1 gives the same bytes without transcoding.
    if (this.connection.write(bytes, length === bytes.length ? 'latin1' : 'utf8')) return true
    this.waitsForDrain = true
    return false
  }

  /** Counts the prompt tokens, when the answer begins. */
  producedPrompt(promptTokens: number, cachedTokens: number): void {
    if (!this.#over) this.ledger.produced(this.record, promptTokens, cachedTokens, 0)
  }

  producedCompletion(tokens: number): void {
    if (!this.#over && tokens !== 0) this.ledger.produced(this.record, 0, 0, tokens)
  }

  /** Ends the exchange after a written answer. */
  complete(outcome: Outcome, keepAlive: boolean): void {
    if (this.#over) return
    this.#end(outcome)
    if (this.behaviour.afterAnswer === 'reset-next') this.connection.resetsNext = true
    if (this.behaviour.afterAnswer === 'close') {
      this.connection.end()
      return
    }
    this.connection.finish(keepAlive)
  }

  /** Closes the connection after the written bytes have left. */
  hangUp(): void {
    if (this.#over) return
    this.#end('fault')
    this.connection.end()
  }

  /** Closes the connection at once; written bytes may be lost. */
  cut(): void {
    if (this.#over) return
    this.#end('fault')
    this.connection.destroy()
  }

  /** Resets the connection; written bytes arrive first. */
  reset(): void {
    if (this.#over) return
    if (this.record.bytesOut === 0) {
      this.#end('fault')
      this.connection.reset()
      return
    }
    this.#resetting = true
    this.pacer.at(this, this.pacer.now() + RESET_DELAY_MS)
  }

  resume(): void {
    if (this.#over) return
    if (this.#resetting) {
      this.#end('fault')
      this.connection.reset()
      return
    }
    this.player?.resume()
  }

  peerClosed(): void {
    if (!this.#over) this.#end('aborted')
  }

  #end(outcome: Outcome): void {
    this.#over = true
    this.player = null
    this.ledger.end(this.record, outcome)
    this.logEntry.endedAt = this.record.endedAt
    this.logEntry.firstByteAt = this.record.firstByteAt
    this.logEntry.status = this.record.status
  }
}
