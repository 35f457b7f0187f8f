import { CREDENTIAL_FORMS, isSecretName, SHORTEST_CREDENTIAL } from './credentials.ts'
import { bareTexts, damagedJsonTexts, decodedText, encodedText, hasWords } from './json-texts.ts'
import type { JsonText } from './json-texts.ts'
import { RedactPattern } from './patterns.ts'
import { joined } from './ranges.ts'
import type { Range } from './ranges.ts'

export interface Redacted {
  readonly text: string
  readonly redactions: number
}

/** Texts of the body that are read as one: a string, the deltas of a stream, or bare texts that follow each other. */
interface Piece {
  readonly texts: JsonText[]
  readonly isSecret: boolean
}

interface Change {
  readonly text: JsonText
  readonly to: string
}

/** Members of events whose strings continue one another. */
const STREAMED = new Set([
  'content',
  'text',
  'delta',
  'arguments',
  'partial_json',
  'thinking',
  'reasoning',
  'reasoning_content',
  'refusal',
])
/** The choice, block or call that an event belongs to. */
const INDEXES = /"(?:[a-z]{1,16}_)?index"[ \t]{0,4}:[ \t]{0,4}(\d{1,9})/g
const EVENT_LINE = /^(?:data|event|id|retry|):/
const EVENT_FIELD = /(?:data|event|id|retry|):/y
/** The last word of a cut text is removed, up to this length. */
const MAX_WORD = 4_096
const WORD_END = /[\s"'<>(){}[\],;]/

/** Removes credentials, and what the patterns match, from bodies. */
export class Redactor {
  readonly #patterns: readonly RedactPattern[]

  /** Throws PatternError. @param patterns of RE2 */
  constructor(patterns: readonly string[]) {
    this.#patterns = patterns.map((pattern) => new RedactPattern(pattern))
  }

  /** @param isCut the body ends before its end */
  redact(body: string, isCut: boolean): Redacted {
    const begin = body.trimStart()
    if (begin.startsWith('{') || begin.startsWith('[')) {
      return this.#apply(body, piecesOf(damagedJsonTexts(body)), isCut)
    }
    if (EVENT_LINE.test(begin)) return this.#apply(body, piecesOfEvents(body), isCut)
    return this.#apply(body, piecesOf(bareTexts(body, 0, body.length)), isCut)
  }

  #apply(body: string, pieces: readonly Piece[], isCut: boolean): Redacted {
    const changes: Change[] = []
    let redactions = 0
    for (const { texts, isSecret: isWhole } of pieces) {
      // Credentials are texts.
      if (texts[0]?.kind === 'number' && !isWhole && this.#patterns.length === 0) continue
      const parts = texts.map(({ start, end }) => decodedText(body.slice(start, end)))
      const whole = parts.length === 1 ? (parts[0] ?? '') : parts.join('')
      const isStreamed = texts.length > 1 && texts[0]?.kind !== 'bare'
      const mayBeCut = isCut && (isStreamed || texts.at(-1)?.isCut === true)
      const kept = mayBeCut ? withoutLastWord(whole).length : whole.length
      const ranges =
        isWhole && whole.length > 0
          ? [{ start: 0, end: whole.length, label: 'field' }]
          : this.#rangesIn(kept === whole.length ? whole : whole.slice(0, kept))
      if (ranges.length === 0 && kept === whole.length) continue
      redactions += ranges.length
      let from = 0
      let first = 0
      for (const [index, part] of parts.entries()) {
        while ((ranges[first]?.end ?? Infinity) <= from) first += 1
        const text = texts[index]
        const to = replaced(part.slice(0, Math.max(0, kept - from)), ranges, from, first)
        if (text !== undefined && to !== part) changes.push({ text, to })
        from += part.length
      }
    }
    return { text: rewritten(body, changes), redactions }
  }

  #rangesIn(text: string): Range[] {
    const ranges: Range[] = []
    if (text.length >= SHORTEST_CREDENTIAL) addCredentials(text, ranges)
    for (const pattern of this.#patterns) pattern.find(text, 'pattern', ranges)
    return ranges.length < 2 ? ranges : joined(ranges)
  }
}

function isSecret({ name }: JsonText): boolean {
  return name !== null && isSecretName(name)
}

/** Pieces of one text each. Bare texts are one piece until another text follows. */
class Pieces {
  readonly all: Piece[] = []
  #bare: JsonText[] | null = null

  add(text: JsonText): void {
    if (text.kind === 'bare') {
      if (this.#bare === null) this.all.push({ texts: (this.#bare = []), isSecret: false })
      this.#bare.push(text)
      return
    }
    this.endBare()
    this.all.push({ texts: [text], isSecret: isSecret(text) })
  }

  endBare(): void {
    this.#bare = null
  }
}

function piecesOf(texts: Iterable<JsonText>): readonly Piece[] {
  const pieces = new Pieces()
  for (const text of texts) pieces.add(text)
  return pieces.all
}

/**
 * The texts of the events of a stream. Strings of the same place in successive events are one piece. So are successive lines without a
 * string: a text that begins as a stream does may have a secret of several lines.
 */
function piecesOfEvents(body: string): readonly Piece[] {
  const pieces = new Pieces()
  const streamed = new Map<string, JsonText[]>()
  let from = 0
  while (from < body.length) {
    const found = body.indexOf('\n', from)
    const to = found < 0 ? body.length : found
    const texts = body.startsWith('data:', from) ? Array.from(damagedJsonTexts(body, from + 5, to)) : []
    if (texts.some(({ kind }) => kind === 'value' || kind === 'name')) {
      pieces.endBare()
      let indexes: string | null = null
      for (const text of texts) {
        if (text.kind !== 'value' || text.name === null || !STREAMED.has(text.name)) {
          pieces.add(text)
          continue
        }
        pieces.endBare()
        indexes ??= Array.from(body.slice(from, to).matchAll(INDEXES), ([, index]) => index).join(',')
        const place = `${text.path} ${indexes}`
        const before = streamed.get(place)
        if (before === undefined) streamed.set(place, [text])
        else before.push(text)
      }
      pieces.endBare()
    } else {
      const value = endOfField(body, from)
      if (hasWords(body.slice(value, to))) {
        for (const text of bareTexts(body, value, Math.min(body.length, to + 1))) pieces.add(text)
      }
    }
    from = to + 1
  }
  for (const texts of streamed.values()) pieces.all.push({ texts, isSecret: false })
  return pieces.all
}

/** The end of the name of the field that the line begins with; `from` when it begins with none. */
function endOfField(body: string, from: number): number {
  EVENT_FIELD.lastIndex = from
  return EVENT_FIELD.test(body) ? EVENT_FIELD.lastIndex : from
}

function addCredentials(text: string, ranges: Range[]): void {
  for (const { label, pattern } of CREDENTIAL_FORMS) {
    pattern.lastIndex = 0
    for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
      const [start, end] = match.indices?.[1] ?? [match.index, match.index + match[0].length]
      ranges.push({ start, end, label })
    }
  }
}

/**
 * The part of a longer text that begins at `from` there, with the marks of the ranges that begin in it.
 *
 * @param first the index of the first range that may end in the part
 */
function replaced(part: string, ranges: readonly Range[], from: number, first = 0): string {
  let result = ''
  let at = 0
  for (let index = first; index < ranges.length; index++) {
    const { start, end, label } = ranges[index] as Range
    const begin = start - from
    if (begin >= part.length) break
    result += part.slice(at, Math.max(at, begin))
    if (begin >= 0) result += `[redacted:${label}]`
    at = Math.min(part.length, end - from)
  }
  return result + part.slice(at)
}

/** The body with other texts in the place of some. All other bytes stay. */
function rewritten(body: string, changes: readonly Change[]): string {
  if (changes.length === 0) return body
  const pieces: string[] = []
  let at = 0
  for (const { text, to } of [...changes].sort((a, b) => a.text.start - b.text.start)) {
    pieces.push(body.slice(at, text.start), writtenAs(text.kind, to))
    at = text.end
  }
  pieces.push(body.slice(at))
  return pieces.join('')
}

function writtenAs(kind: JsonText['kind'], text: string): string {
  if (kind === 'bare') return text
  return kind === 'number' ? JSON.stringify(text) : encodedText(text)
}

/** The last word of a cut text may be the beginning of a secret that no pattern recognises. */
function withoutLastWord(text: string): string {
  const least = Math.max(0, text.length - MAX_WORD)
  let end = text.length
  while (end > least && !WORD_END.test(text.charAt(end - 1))) end -= 1
  return text.slice(0, end)
}
