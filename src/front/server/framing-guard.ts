import { TAG_HEADER } from '../../shared/core/tags.ts'
import { emptyFields } from '../../shared/runtime/fields.ts'

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/
/** A token in upper or lower case. */
const METHOD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** `uri-host [":" port]` of RFC 3986: a name, an IPv4 or a bracketed IPv6 address, and a port. Percent-encoding is not checked. */
const HOST = /^(?:\[[0-9A-Fa-fv:.]+\]|[A-Za-z0-9\-._~!$&'()*+,;=%]+)(?::[0-9]*)?$/
const NO_TARGET = /[^\x21-\x7e]|#/
const PLAIN_NUMBER = /^[0-9]{1,15}$/
// eslint-disable-next-line no-control-regex -- it finds control bytes
const CONTROL_BYTES = /[\x00-\x08\x0a-\x1f\x7f]/

export interface CopiedHeaders {
  /** Names in lower case; repeated fields joined by ", ". */
  readonly headers: Record<string, string | undefined>
  readonly hasTags: boolean
  /** The reason not to trust the framing; null when there is none. */
  readonly fault: string | null
  readonly chunked: boolean
  /** Null when no Content-Length was sent. */
  readonly contentLength: number | null
}

const KNOWN_METHODS: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'])

/** Whether a path or a query is valid: it has no raw byte from 0x80 on (percent-encoded instead) and no fragment. */
export function isTarget(text: string): boolean {
  return !NO_TARGET.test(text)
}

export function isMethod(method: string): boolean {
  return KNOWN_METHODS.has(method) || METHOD.test(method)
}

/** Whether `Connection` announces that the client sends nothing more on this connection. */
export function wantsClose(connection: string | undefined): boolean {
  return connection !== undefined && /(?:^|,)\s*close\s*(?:,|$)/i.test(connection)
}

interface HeaderSource {
  forEach(visit: (name: string, value: string) => void): void
}

/**
 * Copies the header fields and sets `fault` for a request that two HTTP parsers in a row may read differently (RFC 9112
 * §6.3, §11.2). The server's parser accepts such requests.
 */
export function copyHeaders(source: HeaderSource): CopiedHeaders {
  const headers = emptyFields<string | undefined>()
  let fault: string | null = null
  let hasTags = false
  source.forEach((name, value) => {
    const before = headers[name]
    if (before === undefined) headers[name] = value
    else if (name === 'content-length' || name === 'host' || name === 'transfer-encoding')
      fault = `the header ${name} is repeated`
    else headers[name] = `${before}, ${value}`
    if (!isKnownToken(name)) {
      if (!TOKEN.test(name)) fault = 'a field name is not a token'
      if (name.startsWith(TAG_HEADER)) hasTags = true
    }
    if (CONTROL_BYTES.test(value)) fault = 'a field value holds control bytes'
  })

  const transferEncoding = headers['transfer-encoding']
  const length = headers['content-length']
  const host = headers['host']
  if (host === undefined) fault ??= 'the Host header is missing'
  else if (!HOST.test(host)) fault ??= 'the Host header is not a host and port'
  if (transferEncoding !== undefined) {
    if (length !== undefined) fault ??= 'it has both Content-Length and Transfer-Encoding'
    if (transferEncoding.toLowerCase() !== 'chunked') fault ??= 'Transfer-Encoding is not chunked'
  }
  if (length !== undefined && !PLAIN_NUMBER.test(length)) fault ??= 'Content-Length is not a number'
  return {
    headers,
    hasTags,
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
