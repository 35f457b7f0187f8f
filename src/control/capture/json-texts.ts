/** A string in JSON, without its quotes, or a number. */
export interface JsonText {
  readonly kind: 'value' | 'name' | 'number'
  readonly start: number
  readonly end: number
  /** The name of the innermost member that contains it; null: none does. */
  readonly name: string | null
  /** The names of all members that contain it, from the outside in, joined by slashes. */
  readonly path: string
  /** The JSON ends within it. */
  readonly isCut: boolean
}

const NUMBER = /[0-9.eE+-]/
const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const MINUS = 0x2d
const OPENING = new Set([0x7b, 0x5b])
const CLOSING = new Set([0x7d, 0x5d])
/** Deeper names are not part of paths. */
const MAX_DEPTH = 64

/** Finds the strings and the numbers of JSON that may be cut, or damaged, in time proportional to its length. */
export function* jsonTexts(json: string, from = 0, to = json.length): Generator<JsonText> {
  const names: string[] = []
  let depth = 0
  let at = from
  while (at < to) {
    const code = json.charCodeAt(at)
    if (OPENING.has(code)) {
      depth += 1
      if (depth <= MAX_DEPTH) names[depth - 1] = ''
    } else if (CLOSING.has(code) && depth > 0) {
      depth -= 1
      names.length = Math.min(names.length, depth)
    } else if (code === QUOTE) {
      const start = at + 1
      const end = endOfText(json, start, to)
      const isCut = end >= to
      if (!isCut && isName(json, end + 1, to)) {
        if (depth > 0 && depth <= MAX_DEPTH) names[depth - 1] = decodedText(json.slice(start, end))
        yield { kind: 'name', start, end, name: null, path: '', isCut }
      } else yield { kind: 'value', start, end, name: innermost(names), path: names.join('/'), isCut }
      at = end
    } else if (beginsNumber(code)) {
      const start = at
      while (at + 1 < to && NUMBER.test(json.charAt(at + 1))) at += 1
      yield { kind: 'number', start, end: at + 1, name: innermost(names), path: '', isCut: at + 1 >= to }
    }
    at += 1
  }
}

function innermost(names: readonly string[]): string | null {
  return names.findLast((name) => name !== '') ?? null
}

function beginsNumber(code: number): boolean {
  return code === MINUS || (code >= 0x30 && code <= 0x39)
}

/** The text of a string; a damaged escape stays as it is. */
export function decodedText(raw: string): string {
  if (!raw.includes('\\')) return raw
  try {
    return JSON.parse(`"${raw}"`) as string
  } catch {
    return raw.replace(/\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))/g, (escape) => JSON.parse(`"${escape}"`) as string)
  }
}

export function encodedText(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

/** The place of the closing quote; `to` when there is none. */
function endOfText(json: string, start: number, to: number): number {
  let end = json.indexOf('"', start)
  while (end >= 0 && end < to && isEscaped(json, end, start)) end = json.indexOf('"', end + 1)
  return end < 0 ? to : Math.min(end, to)
}

function isEscaped(json: string, at: number, start: number): boolean {
  let before = at - 1
  while (before >= start && json.charCodeAt(before) === BACKSLASH) before -= 1
  return (at - before) % 2 === 0
}

function isName(json: string, from: number, to: number): boolean {
  let at = from
  while (at < to && json.charCodeAt(at) <= 0x20) at += 1
  return at < to && json.charCodeAt(at) === COLON
}
