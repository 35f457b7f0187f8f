/** Bytes and chunks that wait for one client. A client that lags further behind is cut off. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024
const MAX_WAITING_CHUNKS = 1_024

/** The body of one answer: what is pushed comes out in order, at the pace of the client, within a bound. */
export class OutgoingStream implements AsyncIterable<Buffer> {
  readonly #onEnd: () => void
  #chunks: Buffer[] = []
  #bytes = 0
  #isOver = false
  #wake: () => void = () => undefined

  /** @param onEnd called once: the stream is over, by `end`, by the client, or because the client lags behind */
  constructor(onEnd: () => void) {
    this.#onEnd = onEnd
  }

  get isOver(): boolean {
    return this.#isOver
  }

  push(chunk: Buffer): void {
    if (this.#isOver) return
    if (this.#bytes + chunk.length > MAX_WAITING_BYTES || this.#chunks.length >= MAX_WAITING_CHUNKS) {
      this.#chunks = []
      this.end()
      return
    }
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    this.#wake()
  }

  /** Ends the stream behind what was pushed. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#wake()
    this.#onEnd()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        const chunk = this.#chunks.shift()
        if (chunk !== undefined) {
          this.#bytes -= chunk.length
          yield chunk
        } else if (this.#isOver) return
        else await new Promise<void>((resolve) => (this.#wake = resolve))
      }
    } finally {
      this.#chunks = []
      this.end()
    }
  }
}

/** Passes a stream of events on, within the bound. Its first bytes go at once, so that the client sees the head of the answer. */
export function boundedEvents(
  source: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  onEnd: () => void,
): OutgoingStream {
  const reader = source.getReader()
  const stream = new OutgoingStream(() => {
    signal.removeEventListener('abort', leave)
    // Nothing reads the source any more; it may be over already.
    reader.cancel().catch(() => undefined)
    onEnd()
  })
  const leave = (): void => {
    stream.end()
  }
  const pump = async (): Promise<void> => {
    while (!stream.isOver) {
      const { done, value } = await reader.read()
      if (done) break
      stream.push(Buffer.from(value.buffer, value.byteOffset, value.byteLength))
    }
  }
  if (signal.aborted) leave()
  else signal.addEventListener('abort', leave, { once: true })
  stream.push(Buffer.from(': open\n\n'))
  void pump().then(leave, leave)
  return stream
}
