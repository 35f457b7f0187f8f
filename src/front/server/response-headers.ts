import { STATUS_CODES } from 'node:http'
import type { HeaderList } from '../../shared/core/exchange.ts'

// eslint-disable-next-line no-control-regex -- these must not reach the client
const UNSAFE_VALUE = /[\x00-\x08\x0a-\x1f\x7f]/
const ALL_UNSAFE = new RegExp(UNSAFE_VALUE, 'g')
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/** The code and reason of a status line, e.g. `200 OK`; a code out of range becomes 500. */
export function statusLine(status: number): string {
  const known = STATUS_LINES.get(status)
  if (known !== undefined) return known
  return status >= 200 && status <= 599 && Number.isInteger(status) ? `${status} Status` : '500 Internal Server Error'
}

const STATUS_LINES: ReadonlyMap<number, string> = new Map(
  Object.entries(STATUS_CODES).map(([code, reason]) => [Number(code), `${code} ${reason ?? ''}`]),
)

/**
 * Folds all fields into one: a name, and a value that contains the other fields, one a line. So the server needs one call, and a
 * call costs as much as writing ten lines. The server does not check values. This removes control characters, with which an
 * upstream could add header lines, and fields with an invalid name. Returns null when there is no field.
 */
export function foldedFields(lists: readonly HeaderList[]): readonly [name: string, value: string] | null {
  let first: string | null = null
  let text = ''
  for (const list of lists) {
    for (const [name, value] of list) {
      if (!isHeaderName(name)) continue
      const safe = typeof value === 'number' ? value : safeHeaderValue(value)
      if (first === null) {
        first = name
        text = String(safe)
      } else text += `\r\n${name}: ${safe}`
    }
  }
  return first === null ? null : [first, text]
}

export function safeHeaderValue(value: string): string {
  return UNSAFE_VALUE.test(value) ? value.replace(ALL_UNSAFE, '') : value
}

/** Valid names. They are few, and nearly all are the gateway's own. */
const knownNames = new Set<string>()
const MAX_KNOWN_NAMES = 1_000

export function isHeaderName(name: string): boolean {
  if (knownNames.has(name)) return true
  if (!TOKEN.test(name)) return false
  if (knownNames.size < MAX_KNOWN_NAMES) knownNames.add(name)
  return true
}
