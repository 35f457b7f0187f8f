import { openaiChat } from '../../src/simulator/openai-chat.ts'
import type { RecordedAnswer } from '../../src/simulator/recorded.ts'
import { TextPieces, splitTokens } from '../../src/simulator/tokens.ts'
import { ExpectedBytes } from './expected-bytes.ts'
import { SeededRandom } from './seeded-random.ts'

/** Text length of the largest event; larger than any buffer on the path. */
const LARGE = 65_536
const ALPHABET = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789éüß—了解好👍🏽'
const CHARACTERS = Array.from(ALPHABET)
const FIRST_EVENT = /^data: \{"id":"chatcmpl-([^"]+)","object":"chat\.completion\.chunk","created":(\d+),/

export const LONG_PROMPT_TOKENS = 7

/** A text that the simulator sends as about `events` events: one in twelve is 64 KiB long, some are 2 KiB, the rest are words. */
export function longText(seed: number, events: number): string {
  const random = new SeededRandom(seed)
  const words: string[] = []
  while (words.length < events) {
    const kind = random.between(0, 11)
    const length = kind === 0 ? LARGE : kind < 4 ? random.between(1_000, 3_000) : random.between(1, 20)
    words.push(random.pick(['x', 'é', 'Q', '7']).repeat(kind === 0 ? LARGE : length))
    if (kind === 11) words.push('了', '👍', '"', '\\')
  }
  return words.join(' ')
}

/** The texts of the events of a text, for `LongStreamCheck`. */
export function longTextTokens(text: string): readonly string[] {
  return splitTokens(text)
}

/** Checks a simulator's stream of such a text against the simulator's own rules. */
export class LongStreamCheck {
  /** Id of the answer; null before its first event. */
  id: string | null = null
  readonly completionTokens: number
  readonly #pieces: TextPieces
  readonly #model: string
  #first: Buffer = Buffer.alloc(0)
  #expected: ExpectedBytes | null = null

  constructor(tokens: readonly string[], model: string) {
    this.#pieces = new TextPieces(tokens)
    this.completionTokens = tokens.length
    this.#model = model
  }

  /** Throws at the first wrong byte. */
  take(bytes: Buffer): void {
    if (this.#expected !== null) {
      this.#expected.take(bytes)
      return
    }
    this.#first = Buffer.concat([this.#first, bytes])
    const [, id, created] = FIRST_EVENT.exec(this.#first.toString('latin1', 0, 200)) ?? []
    if (id === undefined) {
      if (this.#first.length > 200) throw new Error(`no first event: ${this.#first.toString('latin1', 0, 200)}`)
      return
    }
    this.id = id
    this.#expected = this.#expectation(id, Number(created))
    this.#expected.take(this.#first)
  }

  end(): void {
    if (this.#expected === null) throw new Error('no first event')
    this.#expected.end()
  }

  #expectation(id: string, created: number): ExpectedBytes {
    const { completionTokens } = this
    const events = openaiChat.events({
      id,
      created,
      model: this.#model,
      choices: 1,
      includeUsage: true,
      namedTool: false,
      answer: { text: this.#pieces, calls: [], finish: 'stop', completionTokens },
      usage: { mode: 'normal', promptTokens: LONG_PROMPT_TOKENS, completionTokens, cachedTokens: 0 },
    })
    let next = 0
    return new ExpectedBytes(() => (next < events.count ? Buffer.from(events.text(next++)) : null))
  }
}

const FINISH =
  'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n' +
  'data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":13,"total_tokens":24}}\n\n' +
  'data: [DONE]\n\n'

export const WOVEN_USAGE = { prompt_tokens: 11, completion_tokens: 13 }

/** A different answer for every seed: 200 to 800 events of all sizes, split into writes at any byte. */
export function wovenAnswer(id: string, seed: number): RecordedAnswer {
  const random = new SeededRandom(seed)
  const filling = Array.from({ length: 512 }, () => random.pick(CHARACTERS)).join('')
  const events: string[] = []
  const count = random.between(200, 800)
  for (let n = 0; n < count; n++) {
    const size = n % 150 === 20 ? LARGE : n % 30 === 7 ? random.between(2_000, 20_000) : random.between(0, 300)
    const start = random.between(0, 400)
    const text = filling
      .slice(start)
      .repeat(1 + Math.ceil(size / 100))
      .slice(0, size)
    events.push(`data: {"choices":[{"index":0,"delta":{"content":${JSON.stringify(`${seed}.${n} ${text}`)}}}]}\n\n`)
  }
  const body = Buffer.from(events.join('') + FINISH)
  const splits: number[] = []
  for (let end = 0; end < body.length;) {
    end += random.next() < 0.2 ? random.between(1, 30) : random.between(100, 48_000)
    splits.push(end)
  }
  return { id, status: 200, headers: { 'content-type': 'text/event-stream' }, body, splits }
}

/** A stream of about `bytes` bytes. */
export function plainStream(bytes: number): Buffer {
  const event = `data: {"choices":[{"index":0,"delta":{"content":"${'words '.repeat(100)}"}}]}\n\n`
  return Buffer.from(event.repeat(Math.ceil(bytes / event.length)) + FINISH)
}

/** A buffered answer of about `bytes` bytes. */
export function plainBody(bytes: number): Buffer {
  const message = { role: 'assistant', content: 'words '.repeat(Math.ceil(bytes / 6)) }
  const usage = { ...WOVEN_USAGE, total_tokens: 24 }
  return Buffer.from(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage }))
}
