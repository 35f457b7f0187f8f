import { STATUS_CODES } from 'node:http'

export interface HeadParts {
  readonly status: number
  readonly contentType: string
  /** What marks the end of the body: its length in bytes, a last chunk, or the end of the connection. */
  readonly framing: number | 'chunked' | 'close'
  readonly keepAlive: boolean
  /** Further header lines, each with its line end. */
  readonly lines: string
  /** Headers that are added, or replace lines of the same name. */
  readonly overrides: Readonly<Record<string, string>> | undefined
}

/** Status line, headers and blank line. */
export function responseHead(parts: HeadParts): string {
  let lines = `date: ${httpDate()}\r\ncontent-type: ${parts.contentType}\r\n${parts.lines}`
  if (parts.framing === 'chunked') lines += 'transfer-encoding: chunked\r\n'
  else if (parts.framing !== 'close') lines += `content-length: ${parts.framing}\r\n`
  if (parts.contentType.startsWith('text/event-stream')) lines += 'cache-control: no-cache\r\n'
  lines += parts.keepAlive && parts.framing !== 'close' ? 'connection: keep-alive\r\n' : 'connection: close\r\n'
  if (parts.overrides !== undefined) lines = withHeaders(lines, parts.overrides)
  return `${statusLine(parts.status)}${lines}\r\n`
}

export function statusLine(status: number): string {
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}\r\n`
}

/** The header lines with `headers` added; a header replaces the lines of its name. */
export function withHeaders(lines: string, headers: Readonly<Record<string, string>>): string {
  const entries = Object.entries(headers)
  const replaced = new Set(entries.map(([name]) => name.toLowerCase()))
  const kept = lines.split('\r\n').filter((line) => line !== '' && !replaced.has(nameOf(line)))
  return [...kept, ...entries.map(([name, value]) => `${name}: ${value}`)].map((line) => `${line}\r\n`).join('')
}

/** The lines of `base` whose names are not in `later`, then `later`. */
export function overlay(base: string, later: string): string {
  if (later === '') return base
  const again = new Set(later.split('\r\n').map(nameOf))
  const kept = base.split('\r\n').filter((line) => line !== '' && !again.has(nameOf(line)))
  return kept.map((line) => `${line}\r\n`).join('') + later
}

function nameOf(line: string): string {
  return line.slice(0, line.indexOf(':')).toLowerCase()
}

let dateSecond = 0
let dateText = ''

function httpDate(): string {
  const second = Math.floor(Date.now() / 1000)
  if (second !== dateSecond) {
    dateSecond = second
    dateText = new Date(second * 1000).toUTCString()
  }
  return dateText
}
