import { emptyFields } from '../shared/runtime/fields.ts'

export interface RequestHead {
  readonly method: string
  readonly path: string
  readonly query: string
  /** Names are in lower case; repeated headers are joined by ", ". */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** HTTP/1.0 has no chunked encoding. */
  readonly isHttp11: boolean
  /** The connection stays open after the answer. */
  readonly keepAlive: boolean
  /** -1 when the body is chunked. */
  readonly contentLength: number
}

/** Parses the request line and headers, without the blank line. Null when it is not HTTP or the framing is ambiguous. */
export function parseHead(text: string): RequestHead | null {
  const lineEnd = text.indexOf('\r\n')
  const line = lineEnd === -1 ? text : text.slice(0, lineEnd)
  const first = line.indexOf(' ')
  const second = line.indexOf(' ', first + 1)
  if (first < 1 || second === -1) return null
  const version = line.slice(second + 1)
  if (version !== 'HTTP/1.1' && version !== 'HTTP/1.0') return null

  const headers = emptyFields<string | undefined>()
  for (let start = lineEnd; start !== -1 && start < text.length;) {
    const end = text.indexOf('\r\n', start + 2)
    const stop = end === -1 ? text.length : end
    const colon = text.indexOf(':', start + 2)
    if (colon === -1 || colon >= stop || colon === start + 2) return null
    const name = text.slice(start + 2, colon).toLowerCase()
    const value = text.slice(colon + 1, stop).trim()
    const before = headers[name]
    headers[name] = before === undefined ? value : `${before}, ${value}`
    start = end
  }

  const contentLength = framing(headers)
  if (contentLength === null) return null
  const target = line.slice(first + 1, second)
  const mark = target.indexOf('?')
  const connection = headers['connection']?.toLowerCase()
  return {
    method: line.slice(0, first),
    path: mark === -1 ? target : target.slice(0, mark),
    query: mark === -1 ? '' : target.slice(mark + 1),
    headers,
    isHttp11: version === 'HTTP/1.1',
    keepAlive: version === 'HTTP/1.1' ? connection !== 'close' : connection === 'keep-alive',
    contentLength,
  }
}

function framing(headers: Readonly<Record<string, string | undefined>>): number | null {
  const length = headers['content-length']
  const encoding = headers['transfer-encoding']
  if (encoding !== undefined) return length === undefined && encoding.toLowerCase() === 'chunked' ? -1 : null
  if (length === undefined) return 0
  return /^\d{1,15}$/.test(length) ? Number(length) : null
}
