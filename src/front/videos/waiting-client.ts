import type { DeadlineClock } from '../../shared/runtime/deadlines.ts'
import { Deadline } from '../../shared/runtime/deadlines.ts'
import type { HeaderList, Responder } from '../../shared/core/exchange.ts'

export interface PaddingOptions {
  readonly deadlines: DeadlineClock
  /** The silence before the first byte of padding, and between two of them. */
  readonly afterMs: number
  readonly everyMs: number
}

const BLANK = Buffer.from(' ')

/**
 * A client that waits minutes for its answer. After `afterMs` it gets spaces, with which JSON may begin, so that proxies do not
 * close the connection as dead. The first space sends status 200, so a later error is only in the body.
 */
export class WaitingClient {
  readonly #response: Responder
  readonly #head: () => HeaderList
  readonly #options: PaddingOptions
  readonly #deadline: Deadline
  #isBlocked = false
  #isOver = false

  /** @param head the headers of an answer that begins before its status is known */
  constructor(response: Responder, head: () => HeaderList, options: PaddingOptions) {
    this.#response = response
    this.#head = head
    this.#options = options
    this.#deadline = new Deadline(() => {
      this.#pad()
    })
    response.onAbort(() => {
      this.#end()
    })
    response.onDrain(() => {
      this.#isBlocked = false
    })
    if (!this.#isOver) this.#wait(options.afterMs)
  }

  answer(status: number, headers: HeaderList, body: string): void {
    if (this.#isOver) return
    this.#end()
    if (this.#response.started) this.#response.end(Buffer.from(body))
    else this.#response.send(status, headers, body)
  }

  #pad(): void {
    if (!this.#response.started) this.#response.start(200, this.#head())
    if (!this.#isBlocked) this.#isBlocked = !this.#response.write(BLANK)
    if (!this.#isOver) this.#wait(this.#options.everyMs)
  }

  #wait(forMs: number): void {
    const { deadlines } = this.#options
    this.#deadline.atMs = deadlines.nowMs + forMs
    deadlines.watch(this.#deadline)
  }

  #end(): void {
    this.#isOver = true
    this.#options.deadlines.forget(this.#deadline)
  }
}
