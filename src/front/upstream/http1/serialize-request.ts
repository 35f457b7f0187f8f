import { GatewayError } from '../../../shared/core/errors.ts'
import type { UpstreamRequest } from '../upstream-client.ts'

/** Bodies up to this size are sent in one write with their head: a copy is cheaper than a second write. */
const COPIED_BYTES = 65_536
/** Characters that would end a line, or a part of it, in a path or a name. */
const UNSAFE = /[^\x21-\x7e]/
/** Most values match this, and need no further check. */
const PLAIN_VALUE = /^[\x20-\x7e]*$/
/** Characters that would end a line in a value. A value may contain spaces and bytes above ASCII. */
const UNSAFE_VALUE = /[\r\n\0]/
// eslint-disable-next-line no-control-regex -- all values of one byte
const BEYOND_LATIN1 = /[^\x00-\xff]/

/** Head and body as sent on the wire. Throws INTERNAL when a name, a value or the path would end its line. */
export function serializeRequest(request: UpstreamRequest): readonly Buffer[] {
  const { method, path, origin, headers, common, body } = request
  if (UNSAFE.test(path))
    throw new GatewayError('INTERNAL', { detail: 'the upstream path contains a character that is not allowed' })
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${origin.slice(origin.indexOf('//') + 2)}\r\n`
  head += linesOf(headers)
  if (common !== undefined) head += commonLines(common)
  head +=
    body !== null || (method !== 'GET' && method !== 'DELETE') ? `content-length: ${body?.length ?? 0}\r\n\r\n` : '\r\n'
  if (body === null || body.length === 0) return [Buffer.from(head, 'latin1')]
  if (body.length > COPIED_BYTES) return [Buffer.from(head, 'latin1'), body]
  const bytes = Buffer.allocUnsafe(head.length + body.length)
  bytes.write(head, 0, 'latin1')
  body.copy(bytes, head.length)
  return [bytes]
}

const lines = new WeakMap<readonly string[], string>()

function commonLines(headers: readonly string[]): string {
  let text = lines.get(headers)
  if (text === undefined) {
    text = linesOf(headers)
    lines.set(headers, text)
  }
  return text
}

function linesOf(headers: readonly string[]): string {
  let text = ''
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] ?? ''
    const value = headers[i + 1] ?? ''
    if (!isSafeName(name))
      throw new GatewayError('INTERNAL', { detail: 'an upstream header name contains a character that is not allowed' })
    text += `${name}: ${PLAIN_VALUE.test(value) ? value : bytesOf(value)}\r\n`
  }
  return text
}

/** Checked names. They are few: the gateway's own, and those of the configuration. */
const safeNames = new Set<string>()
const MAX_SAFE_NAMES = 1_000

function isSafeName(name: string): boolean {
  if (safeNames.has(name)) return true
  if (UNSAFE.test(name)) return false
  if (safeNames.size < MAX_SAFE_NAMES) safeNames.add(name)
  return true
}

function bytesOf(value: string): string {
  if (UNSAFE_VALUE.test(value))
    throw new GatewayError('INTERNAL', { detail: 'an upstream header value contains a line break or a null byte' })
  return BEYOND_LATIN1.test(value) ? utf8Bytes(value) : value
}

/**
 * The UTF-8 bytes of a value, as Latin-1. The server decodes most client fields as UTF-8. Written as Latin-1, a value would keep only
 * the low byte of each character, and the low byte of U+010A is a line feed.
 */
function utf8Bytes(value: string): string {
  return Buffer.from(value).toString('latin1')
}
