/** The place where a text stops being JSON, and the problem there. */
export interface JsonFault {
  /** In bytes, from 0. */
  readonly offset: number
  /** From 1. */
  readonly line: number
  /** In characters, from 1. */
  readonly column: number
  readonly problem: string
}

/** The kind of token that may come next. */
type Expected = 'value' | 'value-or-end' | 'name' | 'name-or-end' | 'colon' | 'separator'

const EXPECTED_TEXT: Readonly<Record<Expected, string>> = {
  value: 'a value is expected',
  'value-or-end': 'a value or the end of the array is expected',
  name: 'a field name in double quotes is expected',
  'name-or-end': 'a field name in double quotes or the end of the object is expected',
  colon: 'a colon is expected',
  separator: 'a comma or a closing bracket is expected',
}

const WORDS = ['true', 'false', 'null'].map((word) => Buffer.from(word))
const NUMBER_BYTES = new Set(Buffer.from('0123456789+-.eE'))
const ESCAPES = new Set(Buffer.from('"\\/bfnrt'))

/**
 * The first fault of a text that JSON.parse refuses; null when there is none. JSON.parse itself does not always report the place,
 * and its message quotes the client's text. Slow: for texts that JSON.parse has refused.
 */
export function findJsonFault(bytes: Buffer): JsonFault | null {
  const open: ('{' | '[')[] = []
  let expected: Expected = 'value'
  let done = false
  let i = 0
  for (;;) {
    while (i < bytes.length && isSpace(bytes[i])) i++
    if (i >= bytes.length) return done ? null : fault(bytes, i, 'the body ends too early')
    if (done) return fault(bytes, i, 'nothing more is expected here')
    const character = String.fromCharCode(bytes[i] ?? 0)

    if (expected === 'colon') {
      if (character !== ':') return fault(bytes, i, EXPECTED_TEXT.colon)
      expected = 'value'
      i++
      continue
    }
    if (expected === 'separator' && character === ',') {
      expected = open.at(-1) === '{' ? 'name' : 'value'
      i++
      continue
    }
    if (isEndOf(open.at(-1), character) && expected !== 'value' && expected !== 'name') {
      open.pop()
      expected = 'separator'
      done = open.length === 0
      i++
      continue
    }
    if (expected === 'separator') return fault(bytes, i, EXPECTED_TEXT.separator)

    if (expected === 'name' || expected === 'name-or-end') {
      if (character !== '"') return fault(bytes, i, EXPECTED_TEXT[expected])
      const name = readString(bytes, i)
      if (name.problem !== null) return fault(bytes, name.end, name.problem)
      expected = 'colon'
      i = name.end
      continue
    }

    if (character === '{' || character === '[') {
      open.push(character)
      expected = character === '{' ? 'name-or-end' : 'value-or-end'
      i++
      continue
    }
    const scalar = readScalar(bytes, i, EXPECTED_TEXT[expected])
    if (scalar.problem !== null) return fault(bytes, scalar.end, scalar.problem)
    expected = 'separator'
    done = open.length === 0
    i = scalar.end
  }
}

/** A token that was read. `end`: its end, or the place of the problem. */
interface Piece {
  readonly end: number
  readonly problem: string | null
}

function readScalar(bytes: Buffer, start: number, otherwise: string): Piece {
  if (bytes[start] === 0x22) return readString(bytes, start)
  for (const word of WORDS) {
    const end = start + word.length
    if (bytes.subarray(start, end).equals(word)) return { end, problem: null }
  }
  if (!(bytes[start] === 0x2d || isDigit(bytes[start]))) return { end: start, problem: otherwise }
  const end = numberEnd(bytes, start)
  if (end === null || NUMBER_BYTES.has(bytes[end] ?? 0)) return { end: start, problem: 'this is not a valid number' }
  return { end, problem: null }
}

/** The index after the number at `start`; null when there is none. Not a regular expression: a long number would overflow it. */
function numberEnd(bytes: Buffer, start: number): number | null {
  let i = bytes[start] === 0x2d ? start + 1 : start
  if (!isDigit(bytes[i])) return null
  i = bytes[i] === 0x30 ? i + 1 : digitsEnd(bytes, i)
  if (bytes[i] === 0x2e) {
    if (!isDigit(bytes[i + 1])) return null
    i = digitsEnd(bytes, i + 1)
  }
  if (bytes[i] === 0x65 || bytes[i] === 0x45) {
    i += bytes[i + 1] === 0x2b || bytes[i + 1] === 0x2d ? 2 : 1
    if (!isDigit(bytes[i])) return null
    i = digitsEnd(bytes, i)
  }
  return i
}

function digitsEnd(bytes: Buffer, start: number): number {
  let i = start
  while (isDigit(bytes[i])) i++
  return i
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39
}

function readString(bytes: Buffer, start: number): Piece {
  for (let i = start + 1; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0
    if (byte === 0x22) return { end: i + 1, problem: null }
    if (byte < 0x20) return { end: i, problem: 'a control character in a string must be escaped' }
    if (byte !== 0x5c) continue
    const next = bytes[i + 1] ?? 0
    if (next === 0x75) {
      if (!/^[\da-fA-F]{4}$/.test(bytes.toString('latin1', i + 2, i + 6))) {
        return { end: i, problem: '\\u must be followed by four hexadecimal digits' }
      }
      i += 5
    } else {
      if (!ESCAPES.has(next)) return { end: i, problem: 'this escape is not known' }
      i += 1
    }
  }
  return { end: bytes.length, problem: 'a string is not closed' }
}

function fault(bytes: Buffer, offset: number, problem: string): JsonFault {
  let line = 1
  let column = 1
  for (let i = 0; i < offset; i++) {
    const byte = bytes[i] ?? 0
    if (byte === 0x0a) {
      line++
      column = 1
    } else if ((byte & 0xc0) !== 0x80) column++
  }
  return { offset, line, column, problem }
}

function isEndOf(open: '{' | '[' | undefined, character: string): boolean {
  return (open === '{' && character === '}') || (open === '[' && character === ']')
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}
