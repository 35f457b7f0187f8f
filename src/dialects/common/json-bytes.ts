const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/**
 * An index that no value has: the bytes here are not JSON. The functions below do not check each step against the end. A walk
 * that leaves its range returns an index after the end, so compare the last index with the end.
 */
export const BROKEN = -1

/**
 * Walks the members of one JSON object in place, without creating values. It checks loosely (strings closed, brackets
 * balanced, members separated): this finds a cut or foreign payload, not every invalid one. Create it once and open it for
 * each object.
 */
export class ObjectCursor {
  keyStart = 0
  keyEnd = 0
  valueStart = 0
  /** Index after the closing brace once `next` has returned false, or BROKEN. */
  end = 0
  #bytes: Buffer = Buffer.alloc(0)
  #limit = 0
  #at = 0
  #valueEnd = 0
  #first = true

  /** @param at index of the opening brace */
  open(bytes: Buffer, at: number, limit: number): void {
    this.#bytes = bytes
    this.#limit = limit
    this.#first = true
    this.#at = at + 1
    this.#valueEnd = 0
    this.end = BROKEN
  }

  /** Moves to the next member. Returns false at the object's end and where it is broken. */
  next(): boolean {
    const bytes = this.#bytes
    const limit = this.#limit
    let at = this.#first ? this.#at : this.valueEnd()
    if (at === BROKEN) return false
    at = skipSpace(bytes, at, limit)
    if (bytes[at] === CLOSE_OBJECT) {
      this.end = at + 1
      return false
    }
    if (!this.#first) {
      if (bytes[at] !== COMMA) return false
      at = skipSpace(bytes, at + 1, limit)
    }
    this.#first = false
    if (bytes[at] !== QUOTE) return false
    this.keyStart = at + 1
    at = skipString(bytes, at, limit)
    if (at === BROKEN) return false
    this.keyEnd = at - 1
    at = skipSpace(bytes, at, limit)
    if (bytes[at] !== COLON) return false
    this.valueStart = skipSpace(bytes, at + 1, limit)
    this.#valueEnd = 0
    return this.valueStart < limit
  }

  /** Index after the value, or BROKEN. */
  valueEnd(): number {
    if (this.#valueEnd === 0) this.#valueEnd = skipValue(this.#bytes, this.valueStart, this.#limit)
    return this.#valueEnd
  }

  /** Sets the end of a value that the caller has already walked. */
  walkedTo(valueEnd: number): void {
    this.#valueEnd = valueEnd
  }

  /** Does not recognise keys with escapes: no provider writes them. */
  keyIs(name: Buffer): boolean {
    const length = name.length
    if (this.keyEnd - this.keyStart !== length) return false
    for (let i = 0; i < length; i++) if (this.#bytes[this.keyStart + i] !== name[i]) return false
    return true
  }

  get valueIsObject(): boolean {
    return this.#bytes[this.valueStart] === OPEN_OBJECT
  }

  get valueIsArray(): boolean {
    return this.#bytes[this.valueStart] === OPEN_ARRAY
  }

  get valueIsText(): boolean {
    return this.#bytes[this.valueStart] === QUOTE
  }

  /** Whether the value is truthy in JavaScript: not null, false, zero or the empty string. */
  get valueIsTruthy(): boolean {
    const first = this.#bytes[this.valueStart]
    if (first === QUOTE) return this.#bytes[this.valueStart + 1] !== QUOTE
    if (first === 0x74 || first === OPEN_OBJECT || first === OPEN_ARRAY) return true
    if (first === 0x6e || first === 0x66) return false
    return Number(this.#bytes.toString('latin1', this.valueStart, Math.max(this.valueStart, this.valueEnd()))) !== 0
  }
}

/**
 * Counts the text that a model generated within a delta, wherever it stands: the UTF-8 bytes of all string values of
 * text-bearing keys, escapes resolved. A text under two such keys counts twice, except `reasoning_details`, which repeats
 * `reasoning`.
 */
export class TextMeter {
  total = 0
  /** Number of texts of the last value that was walked, and the bounds of the last one, without its quotes. */
  texts = 0
  textStart = 0
  textEnd = 0

  /** Counts the string in the range under any key. The range includes the quotes. */
  count(bytes: Buffer, start: number, end: number): void {
    if (end === BROKEN) return
    this.texts++
    this.textStart = start + 1
    this.textEnd = end - 1
    this.total += decodedLength(bytes, this.textStart, this.textEnd)
  }

  /** Walks one value and returns the index after it, or BROKEN. */
  walk(bytes: Buffer, at: number, end: number, depth = 0): number {
    const first = bytes[at]
    if (depth === 0) this.texts = 0
    if (depth > MAX_DEPTH || (first !== OPEN_OBJECT && first !== OPEN_ARRAY)) return skipValue(bytes, at, end)
    return first === OPEN_ARRAY ? this.#walkArray(bytes, at, end, depth) : this.#walkObject(bytes, at, end, depth)
  }

  #walkArray(bytes: Buffer, open: number, end: number, depth: number): number {
    let at = skipSpace(bytes, open + 1, end)
    if (bytes[at] === CLOSE_ARRAY) return at + 1
    while (at < end) {
      at = this.walk(bytes, at, end, depth + 1)
      if (at === BROKEN) return BROKEN
      at = skipSpace(bytes, at, end)
      if (bytes[at] === CLOSE_ARRAY) return at + 1
      if (bytes[at] !== COMMA) return BROKEN
      at = skipSpace(bytes, at + 1, end)
    }
    return BROKEN
  }

  #walkObject(bytes: Buffer, open: number, end: number, depth: number): number {
    let at = skipSpace(bytes, open + 1, end)
    if (bytes[at] === CLOSE_OBJECT) return at + 1
    while (at < end && bytes[at] === QUOTE) {
      const keyEnd = skipString(bytes, at, end)
      if (keyEnd === BROKEN) return BROKEN
      const kind = kindOfKey(bytes, at + 1, keyEnd - 1)
      at = skipSpace(bytes, keyEnd, end)
      if (bytes[at] !== COLON) return BROKEN
      const value = skipSpace(bytes, at + 1, end)
      if (kind === TEXT && bytes[value] === QUOTE) {
        at = skipString(bytes, value, end)
        this.count(bytes, value, at)
      } else {
        at = kind === REPEATED ? skipValue(bytes, value, end) : this.walk(bytes, value, end, depth + 1)
      }
      if (at === BROKEN) return BROKEN
      at = skipSpace(bytes, at, end)
      if (bytes[at] === CLOSE_OBJECT) return at + 1
      if (bytes[at] !== COMMA) return BROKEN
      at = skipSpace(bytes, at + 1, end)
    }
    return BROKEN
  }
}

/** Deeper values do not count as text. */
export const MAX_DEPTH = 32
const OTHER = 0
const TEXT = 1
const REPEATED = 2

/** Keys whose string values are text that the model generated. */
export const TEXT_NAMES = [
  'content',
  'reasoning',
  'reasoning_content',
  'refusal',
  'arguments',
  'input',
  'text',
  'thinking',
  'transcript',
  'partial_json',
] as const
/** Keys whose values repeat a text from another place. */
export const REPEATED_NAMES = ['reasoning_details'] as const

const TEXT_KEYS = byLength(TEXT_NAMES)
const REPEATED_KEYS = byLength(REPEATED_NAMES)

function kindOfKey(bytes: Buffer, start: number, end: number): number {
  if (isOneOf(TEXT_KEYS, bytes, start, end)) return TEXT
  return isOneOf(REPEATED_KEYS, bytes, start, end) ? REPEATED : OTHER
}

function isOneOf(keys: readonly Buffer[][], bytes: Buffer, start: number, end: number): boolean {
  const candidates = keys[end - start]
  if (candidates === undefined) return false
  for (let i = 0; i < candidates.length; i++) {
    const key = candidates[i] as Buffer
    let j = 0
    while (j < key.length && bytes[start + j] === key[j]) j++
    if (j === key.length) return true
  }
  return false
}

function byLength(names: readonly string[]): Buffer[][] {
  const table: Buffer[][] = []
  for (let length = 0; length <= 20; length++) {
    table.push(names.filter((name) => name.length === length).map((name) => Buffer.from(name)))
  }
  return table
}

/** UTF-8 bytes of a string's value. The range excludes the quotes. */
function decodedLength(bytes: Buffer, start: number, end: number): number {
  let length = end - start
  for (let i = start; i < end; i++) {
    if (bytes[i] !== BACKSLASH) continue
    i++
    length -= bytes[i] === 0x75 ? 6 - escapedLength(bytes, i + 1) : 1
  }
  return length
}

/** UTF-8 bytes of `\uXXXX`; `at` is the index of its first digit. Half of a surrogate pair counts 2 of the pair's 4. */
function escapedLength(bytes: Buffer, at: number): number {
  const unit = Number.parseInt(bytes.toString('latin1', at, at + 4), 16)
  if (unit < 0x80) return 1
  return unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 2 : 3
}

/** Index of the first byte that is not white space. CR does not count as white space: in an event it ends a line. */
export function skipSpace(bytes: Buffer, from: number, end: number): number {
  let at = from
  while (at < end && (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x09)) at++
  return at
}

/** Index after the string that opens at `at`, or BROKEN. */
function skipString(bytes: Buffer, at: number, end: number): number {
  for (let i = at + 1; i < end; i++) {
    const byte = bytes[i] as number
    // Checked first, because most bytes are lower-case letters.
    if (byte > BACKSLASH) continue
    if (byte === QUOTE) return i + 1
    if (byte === BACKSLASH) i++
    else if (byte < 0x20) return BROKEN
  }
  return BROKEN
}

/** Index after the value that begins at `at`, or BROKEN. */
export function skipValue(bytes: Buffer, at: number, end: number): number {
  const first = bytes[at]
  if (first === QUOTE) return skipString(bytes, at, end)
  return first === OPEN_OBJECT || first === OPEN_ARRAY ? skipNested(bytes, at, end) : skipLiteral(bytes, at, end)
}

function skipNested(bytes: Buffer, at: number, end: number): number {
  let depth = 0
  for (let i = at; i < end; i++) {
    const byte = bytes[i]
    if (byte === QUOTE) {
      i = skipString(bytes, i, end) - 1
      if (i < 0) return BROKEN
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      depth++
    } else if ((byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) && --depth === 0) {
      return i + 1
    }
  }
  return BROKEN
}

/** Skips a number, `true`, `false` or `null`. */
function skipLiteral(bytes: Buffer, at: number, end: number): number {
  let i = at
  while (i < end && isLiteralByte(bytes[i] as number)) i++
  return i === at ? BROKEN : i
}

function isLiteralByte(byte: number): boolean {
  return (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x2b && byte <= 0x39 && byte !== COMMA) || byte === 0x45
}
