import { escapeJson } from './json.ts'

/**
 * Counts the simulator's tokens, by one rule for prompts and answers:
 *   - white space and control characters separate tokens and do not count;
 *   - a run of ASCII letters and digits and of other characters below U+2E80 is one token;
 *   - every visible ASCII character that is neither letter nor digit is one token;
 *   - every code point from U+2E80 on (CJK, emoji, …) is one token.
 * `Hello, wörld!` has four.
 */
export function countTokens(text: string): number {
  let count = 0
  let inWord = false
  for (let i = 0; i < text.length; i++) {
    const kind = classify(text.charCodeAt(i))
    if (kind === WORD) {
      if (!inWord) count++
      inWord = true
      continue
    }
    inWord = false
    if (kind === SINGLE && !isSecondHalf(text, i)) count++
  }
  return count
}

/**
 * Splits a text into one string for each token. White space belongs to the token after it; at the end, to the last token.
 * The joined strings are the text. With `limit`, returns only the first so many.
 */
export function splitTokens(text: string, limit = Infinity): string[] {
  const pieces: string[] = []
  let start = 0
  let inWord = false
  // Offset after the last token; when a new token begins, the previous piece ends there.
  let end = 0
  for (let i = 0; i < text.length; i++) {
    const kind = classify(text.charCodeAt(i))
    if (kind === SPACE) {
      inWord = false
      continue
    }
    const goesOn = kind === WORD ? inWord : isSecondHalf(text, i)
    if (!goesOn && end > start) {
      pieces.push(text.slice(start, end))
      if (pieces.length === limit) return pieces
      start = end
    }
    inWord = kind === WORD
    end = i + 1
  }
  if (start < text.length && end > start) pieces.push(text.slice(start))
  else if (start < text.length) pieces.push(text)
  return pieces
}

/** Tokens of an answer by index, so that a long answer need not be in memory. */
export interface Pieces {
  readonly length: number
  /** The token as it is written between the quotes of a JSON string. */
  escapedAt(index: number): string
  /** All tokens, joined. */
  escaped(): string
}

const WORDS = (
  'the river carries small boats past quiet fields while morning light falls on old stone bridges and birds follow ' +
  'every turn of water towards a wide sea where ships wait for wind their crews sing songs about harbours they have ' +
  'known far away from home'
).split(' ')
const SPACED_WORDS = WORDS.map((word) => ` ${word}`)

/** `length` tokens of the fixed vocabulary; each of its words is one token. */
export class VocabularyPieces implements Pieces {
  readonly length: number

  constructor(length: number) {
    this.length = length
  }

  escapedAt(index: number): string {
    return (index === 0 ? WORDS[0] : SPACED_WORDS[index % SPACED_WORDS.length]) ?? ''
  }

  escaped(): string {
    let text = ''
    for (let i = 0; i < this.length; i++) text += this.escapedAt(i)
    return text
  }
}

export class TextPieces implements Pieces {
  readonly length: number
  readonly #pieces: readonly string[]

  constructor(pieces: readonly string[]) {
    this.length = pieces.length
    this.#pieces = pieces
  }

  escapedAt(index: number): string {
    return escapeJson(this.#pieces[index] ?? '')
  }

  escaped(): string {
    return escapeJson(this.#pieces.join(''))
  }
}

const SPACE = 0
const WORD = 1
const SINGLE = 2

const ASCII = new Uint8Array(128)
for (let code = 0x21; code < 0x7f; code++) ASCII[code] = SINGLE
for (let code = 0x30; code <= 0x39; code++) ASCII[code] = WORD
for (let code = 0x41; code <= 0x5a; code++) ASCII[code] = ASCII[code + 32] = WORD

function classify(code: number): number {
  if (code < 128) return ASCII[code] ?? SPACE
  if (code === 0xfeff || code === 0x3000) return SPACE
  if (code >= 0x2e80) return SINGLE
  if (code <= 0xa0) return SPACE
  if (code === 0x1680 || (code >= 0x2000 && code <= 0x200a)) return SPACE
  return code === 0x2028 || code === 0x2029 || code === 0x202f || code === 0x205f ? SPACE : WORD
}

/** The low half of a surrogate pair belongs to the token that its high half began. */
function isSecondHalf(text: string, index: number): boolean {
  const code = text.charCodeAt(index)
  if (code < 0xdc00 || code > 0xdfff || index === 0) return false
  const before = text.charCodeAt(index - 1)
  return before >= 0xd800 && before <= 0xdbff
}
