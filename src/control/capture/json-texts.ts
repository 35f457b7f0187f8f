/** A string in JSON, without its quotes, a number, or a bare text: one outside of strings that is no JSON. */
export interface JsonText {
  readonly kind: 'value' | 'name' | 'number' | 'bare'
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
/** The rest of the texts between strings: `[DONE]` ends the streams of some protocols. */
const PUNCTUATION = /^[\s{}[\],:]*$/
const LITERAL = /\b(?:true|false|null)\b|\[DONE\]/g
const ESCAPE = /\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])/g
/** A name without double quotes, before its value. */
const BARE_NAME = /([A-Za-z_][\w-]{0,63})['`]?\s{0,4}[:=]\s{0,4}$/
const MAX_BARE_NAME = 80
/** Deeper names are not part of paths. */
const MAX_DEPTH = 64

/** Finds the strings and the numbers of JSON that may be cut, or damaged, in time proportional to its length. */
function* jsonTexts(json: string, from = 0, to = json.length): Generator<JsonText> {
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

/**
 * Finds the strings and numbers, and the bare texts of damaged JSON: those between strings with more than punctuation, literals and
 * numbers. A bare text contains the numbers that are in it.
 */
export function* damagedJsonTexts(json: string, from = 0, to = json.length): Generator<JsonText> {
  let numbers: JsonText[] = []
  let isBare = false
  let bareFrom = from
  let at = from
  for (const text of jsonTexts(json, from, to)) {
    isBare ||= hasWords(json.slice(at, text.start - (text.kind === 'number' ? 0 : 1)))
    at = text.end
    if (text.kind === 'number') {
      numbers.push(text)
      continue
    }
    const bareTo = text.start - 1
    yield* isBare ? bareTexts(json, bareFrom, bareTo) : numbers
    const name = isBare && text.kind === 'value' ? bareNameBefore(json, bareFrom, bareTo) : null
    yield name === null ? text : { ...text, name }
    numbers = []
    isBare = false
    at = bareFrom = Math.min(to, text.end + 1)
  }
  isBare ||= hasWords(json.slice(at, to))
  yield* isBare ? bareTexts(json, bareFrom, to) : numbers
}

/** The part of the text as bare texts that follow each other: an escape is a text by itself, so that the others stay as they are. */
export function* bareTexts(text: string, from: number, to: number): Generator<JsonText> {
  const part = text.slice(from, to)
  let at = from
  for (const { index, 0: escape } of part.includes('\\') ? part.matchAll(ESCAPE) : []) {
    if (from + index > at) yield bareText(text, at, from + index)
    at = from + index + escape.length
    yield bareText(text, from + index, at)
  }
  if (to > at) yield bareText(text, at, to)
}

function bareText(text: string, start: number, end: number): JsonText {
  return { kind: 'bare', start, end, name: null, path: '', isCut: end === text.length }
}

/** Whether a text outside of strings is no JSON. */
export function hasWords(text: string): boolean {
  return !PUNCTUATION.test(text) && !PUNCTUATION.test(text.replace(LITERAL, ''))
}

function bareNameBefore(json: string, from: number, to: number): string | null {
  return BARE_NAME.exec(json.slice(Math.max(from, to - MAX_BARE_NAME), to))?.[1] ?? null
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
