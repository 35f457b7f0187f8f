import { STATUS_CODES } from 'node:http'

// eslint-disable-next-line no-control-regex -- these are what must not get out
const UNSAFE_VALUE = /[\x00-\x08\x0a-\x1f\x7f]/g
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/** A status line's code and reason, e.g. `200 OK`; a code out of range becomes 500. */
export function statusLine(status: number): string {
  const known = STATUS_LINES.get(status)
  if (known !== undefined) return known
  return status >= 200 && status <= 599 && Number.isInteger(status) ? `${status} Status` : '500 Internal Server Error'
}

const STATUS_LINES: ReadonlyMap<number, string> = new Map(
  Object.entries(STATUS_CODES).map(([code, reason]) => [Number(code), `${code} ${reason ?? ''}`]),
)

/** The server writes values unchecked: a CR or LF from an upstream would let it write headers of its own. */
export function safeHeaderValue(value: string): string {
  return UNSAFE_VALUE.test(value) ? value.replace(UNSAFE_VALUE, '') : value
}

export function isHeaderName(name: string): boolean {
  return TOKEN.test(name)
}
