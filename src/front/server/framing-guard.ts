import { emptyFields } from '../../shared/runtime/fields.ts'

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/
/** Of methods: the same, in any case. */
const METHOD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** A name, an IPv4 or a bracketed IPv6 address, and a port: `uri-host [":" port]` of RFC 3986 without percent-encoding of its own. */
const HOST = /^(?:\[[0-9A-Fa-fv:.]+\]|[A-Za-z0-9\-._~!$&'()*+,;=%]+)(?::[0-9]*)?$/
const NO_TARGET = /[^\x21-\x7e]|#/
const PLAIN_NUMBER = /^[0-9]{1,15}$/
// eslint-disable-next-line no-control-regex -- control bytes are what it looks for
const CONTROL_BYTES = /[\x00-\x08\x0a-\x1f\x7f]/

export interface CopiedHeaders {
  /** Names in lower case; repeated fields joined by ", ". */
  readonly headers: Record<string, string | undefined>
  /** Why the framing cannot be trusted; null when it can. */
  readonly fault: string | null
  readonly chunked: boolean
  /** Null when no Content-Length was sent. */
  readonly contentLength: number | null
}

const KNOWN_METHODS: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'])

/** Of a path or a query: bytes from 0x80 on belong in percent-encoding, and a fragment stays with the client. */
export function isTarget(text: string): boolean {
  return !NO_TARGET.test(text)
}

export function isMethod(method: string): boolean {
  return KNOWN_METHODS.has(method) || METHOD.test(method)
}

/** The client sends nothing more on this connection. */
export function wantsClose(connection: string | undefined): boolean {
  return connection !== undefined && /(?:^|,)\s*close\s*(?:,|$)/i.test(connection)
}

interface HeaderSource {
  forEach(visit: (name: string, value: string) => void): void
}

/**
 * Copies the header fields and refuses whatever two HTTP parsers in a row may read differently (RFC 9112 §6.3, §11.2):
 * the server's parser lets these through.
 */
export function copyHeaders(source: HeaderSource): CopiedHeaders {
  const headers = emptyFields<string | undefined>()
  let fault: string | null = null
  source.forEach((name, value) => {
    const before = headers[name]
    if (before === undefined) headers[name] = value
    else if (name === 'content-length' || name === 'host' || name === 'transfer-encoding') fault = `repeated ${name}`
    else headers[name] = `${before}, ${value}`
    if (!isKnownToken(name) && !TOKEN.test(name)) fault = 'a field name is not a token'
    if (CONTROL_BYTES.test(value)) fault = 'a field value holds control bytes'
  })

  const transferEncoding = headers['transfer-encoding']
  const length = headers['content-length']
  const host = headers['host']
  if (host === undefined) fault ??= 'no Host'
  else if (!HOST.test(host)) fault ??= 'Host is not a host'
  if (transferEncoding !== undefined) {
    if (length !== undefined) fault ??= 'Content-Length beside Transfer-Encoding'
    if (transferEncoding.toLowerCase() !== 'chunked') fault ??= 'a Transfer-Encoding other than chunked'
  }
  if (length !== undefined && !PLAIN_NUMBER.test(length)) fault ??= 'Content-Length is not a number'
  return {
    headers,
    fault,
    chunked: transferEncoding !== undefined,
    contentLength: length === undefined ? null : Number(length),
  }
}

const KNOWN_TOKENS: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'anthropic-beta',
  'anthropic-version',
  'authorization',
  'connection',
  'content-length',
  'content-type',
  'host',
  'user-agent',
  'x-api-key',
])

function isKnownToken(name: string): boolean {
  return KNOWN_TOKENS.has(name)
}
