import { isObject } from '../../shared/config/is-object.ts'
import { SseSplitter } from '../../shared/wire/sse.ts'

export interface TokenCount {
  readonly prompt: number
  readonly completion: number
}

const DATA = 'data:'
const DONE = '[DONE]'

/** Reads the answer to a chat or messages request, streamed or whole. */
export class AnswerReader {
  readonly #onEvent: () => void
  readonly #splitter: SseSplitter | null
  readonly #whole: Buffer[] = []
  #text = ''
  #usage: TokenCount | null = null
  #terminals = 0
  #malformed = 0
  #error: string | null = null

  /** @param onEvent is called for each event with text, as soon as its bytes are here */
  constructor(isStream: boolean, onEvent: () => void) {
    this.#onEvent = onEvent
    this.#splitter = isStream ? new SseSplitter() : null
  }

  /** Throws SseEventTooLargeError. */
  push(chunk: Buffer): void {
    if (this.#splitter === null) this.#whole.push(chunk)
    else this.#splitter.split(chunk, this.#readEvent)
  }

  /** Call once, when the body has ended. */
  end(): void {
    if (this.#splitter === null) {
      this.#take(Buffer.concat(this.#whole).toString())
      return
    }
    this.#splitter.finish(this.#readEvent)
  }

  get text(): string {
    return this.#text
  }

  get usage(): TokenCount | null {
    return this.#usage
  }

  /** The code of the error that the answer is or ends with. */
  get error(): string | null {
    return this.#error
  }

  /** The reason why a streamed answer is not whole; null: it is. */
  get streamFault(): string | null {
    if (this.#malformed > 0) return `${this.#malformed} events that are not JSON`
    if (this.#error !== null) return `the stream ends with the error ${this.#error}`
    if (this.#terminals === 0) return 'the stream has no terminal event'
    return this.#terminals === 1 ? null : `the stream has ${this.#terminals} terminal events`
  }

  readonly #readEvent = (bytes: Buffer, start: number, end: number): void => {
    for (const line of bytes.toString('utf8', start, end).split(/\r\n|\r|\n/)) {
      if (line.startsWith(DATA)) this.#take(line.slice(DATA.length).trimStart())
    }
  }

  #take(json: string): void {
    if (json === DONE) {
      this.#terminals += 1
      return
    }
    let value: unknown
    try {
      value = JSON.parse(json)
    } catch {
      this.#malformed += 1
      return
    }
    if (!isObject(value)) return
    if (value['type'] === 'message_stop') this.#terminals += 1
    if (isObject(value['error'])) this.#error = String(value['error']['code'] ?? value['error']['type'])
    const message = value['message']
    this.#count(value['usage'] ?? (isObject(message) ? message['usage'] : undefined))
    const text = textOf(value)
    if (text === '') return
    this.#text += text
    this.#onEvent()
  }

  #count(usage: unknown): void {
    if (!isObject(usage)) return
    const prompt = usage['prompt_tokens'] ?? promptOfMessages(usage)
    const completion = usage['completion_tokens'] ?? usage['output_tokens']
    this.#usage = {
      prompt: typeof prompt === 'number' ? prompt : (this.#usage?.prompt ?? 0),
      completion: typeof completion === 'number' ? completion : (this.#usage?.completion ?? 0),
    }
  }
}

/** The messages protocol counts cached tokens apart. */
function promptOfMessages(usage: Record<string, unknown>): number | undefined {
  const parts = [usage['input_tokens'], usage['cache_read_input_tokens'], usage['cache_creation_input_tokens']]
  const counts = parts.filter((part) => typeof part === 'number')
  return counts.length === 0 ? undefined : counts.reduce((sum, count) => sum + count, 0)
}

/** The text of an answer or of one of its events; empty when it has none. */
function textOf(value: Record<string, unknown>): string {
  const { choices, delta, content } = value
  if (Array.isArray(choices)) {
    const [choice] = choices as unknown[]
    if (!isObject(choice)) return ''
    const part = choice['delta'] ?? choice['message']
    return isObject(part) && typeof part['content'] === 'string' ? part['content'] : ''
  }
  if (isObject(delta)) return typeof delta['text'] === 'string' ? delta['text'] : ''
  if (!Array.isArray(content)) return ''
  return (content as unknown[])
    .map((block) => (isObject(block) && typeof block['text'] === 'string' ? block['text'] : ''))
    .join('')
}
