import { CREDENTIAL_FORMS, isSecretName, SHORTEST_CREDENTIAL } from './credentials.ts'
import { decodedText, encodedText, jsonTexts } from './json-texts.ts'
import type { JsonText } from './json-texts.ts'
import { RedactPattern } from './patterns.ts'
import { joined } from './ranges.ts'
import type { Range } from './ranges.ts'

export interface Redacted {
  readonly text: string
  readonly redactions: number
}

/** Texts of the body that are read as one: a string, or the deltas of a stream. */
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
      const pieces = Array.from(jsonTexts(body), (text): Piece => ({ texts: [text], isSecret: isSecret(text) }))
      return this.#apply(body, pieces, isCut)
    }
    if (EVENT_LINE.test(begin)) return this.#apply(body, piecesOfEvents(body), isCut)
    return this.#plain(isCut ? withoutLastWord(body) : body)
  }

  #plain(body: string): Redacted {
    const ranges = this.#rangesIn(body)
    return { text: replaced(body, ranges, 0), redactions: ranges.length }
  }

  #apply(body: string, pieces: readonly Piece[], isCut: boolean): Redacted {
    const changes: Change[] = []
    let redactions = 0
    for (const { texts, isSecret: isWhole } of pieces) {
      // Credentials are texts.
      if (texts[0]?.kind === 'number' && !isWhole && this.#patterns.length === 0) continue
      const parts = texts.map(({ start, end }) => decodedText(body.slice(start, end)))
      const whole = parts.length === 1 ? (parts[0] ?? '') : parts.join('')
      const mayBeCut = isCut && (texts.length > 1 || texts.at(-1)?.isCut === true)
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

/** The strings of the events of a stream. Those of the same place in successive events are one piece. */
function piecesOfEvents(body: string): Piece[] {
  const pieces: Piece[] = []
  const streamed = new Map<string, JsonText[]>()
  let from = 0
  while (from < body.length) {
    const found = body.indexOf('\n', from)
    const to = found < 0 ? body.length : found
    if (body.startsWith('data:', from)) {
      let indexes: string | null = null
      for (const text of jsonTexts(body, from + 5, to)) {
        if (text.kind !== 'value' || text.name === null || !STREAMED.has(text.name)) {
          pieces.push({ texts: [text], isSecret: isSecret(text) })
          continue
        }
        indexes ??= Array.from(body.slice(from, to).matchAll(INDEXES), ([, index]) => index).join(',')
        const place = `${text.path} ${indexes}`
        const before = streamed.get(place)
        if (before === undefined) streamed.set(place, [text])
        else before.push(text)
      }
    }
    from = to + 1
  }
  for (const texts of streamed.values()) pieces.push({ texts, isSecret: false })
  return pieces
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
    pieces.push(body.slice(at, text.start), text.kind === 'number' ? JSON.stringify(to) : encodedText(to))
    at = text.end
  }
  pieces.push(body.slice(at))
  return pieces.join('')
}

/** The last word of a cut text may be the beginning of a secret that no pattern recognises. */
function withoutLastWord(text: string): string {
  const least = Math.max(0, text.length - MAX_WORD)
  let end = text.length
  while (end > least && !WORD_END.test(text.charAt(end - 1))) end -= 1
  return text.slice(0, end)
}
