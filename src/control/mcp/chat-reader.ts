import { joinData, SseSplitter } from '../../shared/wire/sse.ts'
import type { ApiError } from './tool-source.ts'

interface ChatChunk {
  readonly id?: string
  readonly model?: string
  readonly choices?: ReadonlyArray<{
    readonly delta?: { readonly content?: string | null }
    readonly finish_reason?: string | null
  }>
  readonly usage?: object | null
  readonly error?: ApiError
}

/** Text is told this often at most. */
const TELL_EVERY_MS = 100

/** Reads the stream of a chat completion, and tells how it goes on. */
export class ChatReader {
  readonly #progress: ((done: number, message: string) => void) | null
  readonly #splitter = new SseSplitter()
  #id = ''
  #model = ''
  #content = ''
  #finishReason: string | null = null
  #usage: object | null = null
  #told = 0
  #toldAtMs = -Infinity

  /** @param progress told the number of characters so far, with those that are new */
  constructor(progress: ((done: number, message: string) => void) | null) {
    this.#progress = progress
  }

  get result(): {
    readonly id: string
    readonly model: string
    readonly content: string
    readonly finish_reason: string | null
    readonly usage: object | null
  } {
    const [id, model, content, usage] = [this.#id, this.#model, this.#content, this.#usage]
    return { id, model, content, finish_reason: this.#finishReason, usage }
  }

  /** Returns the error that ends the stream; null: it goes on. */
  read(bytes: Buffer): ApiError | null {
    let failure: ApiError | null = null
    this.#splitter.split(bytes, (chunk, start, end) => {
      const data = joinData(chunk, start, end)?.toString('utf8')
      if (data === undefined || data === '[DONE]') return true
      failure = this.#take(JSON.parse(data) as ChatChunk)
      return failure === null
    })
    this.#tell()
    return failure
  }

  #take({ id, model, choices = [], usage, error }: ChatChunk): ApiError | null {
    if (error !== undefined) return error
    this.#id ||= id ?? ''
    this.#model ||= model ?? ''
    const [choice] = choices
    this.#content += choice?.delta?.content ?? ''
    this.#finishReason = choice?.finish_reason ?? this.#finishReason
    this.#usage = usage ?? this.#usage
    return null
  }

  #tell(): void {
    const nowMs = performance.now()
    if (this.#progress === null || this.#content.length === this.#told || nowMs - this.#toldAtMs < TELL_EVERY_MS) return
    const news = this.#content.slice(this.#told)
    this.#told = this.#content.length
    this.#toldAtMs = nowMs
    this.#progress(this.#told, news)
  }
}
