import { GatewayError } from '../../../shared/core/errors.ts'
import type { UpstreamRequest } from '../upstream-client.ts'

/** Bodies up to this size leave in one write with their head: copying them is cheaper than a second piece. */
const COPIED_BYTES = 65_536
/** What would end a line, or a part of it, in a path or a name. */
const UNSAFE = /[^\x21-\x7e]/
/** All that most values hold. */
const PLAIN_VALUE = /^[\x20-\x7e]*$/
/** And in a value, which may hold blanks and bytes above ASCII. */
const UNSAFE_VALUE = /[\r\n\0]/
// eslint-disable-next-line no-control-regex -- everything that one byte can hold
const BEYOND_LATIN1 = /[^\x00-\xff]/

/** Head and body as they go on the wire. Throws INTERNAL when a name, a value or the path would end its line. */
export function serializeRequest(request: UpstreamRequest): readonly Buffer[] {
  const { method, path, origin, headers, common, body } = request
  if (UNSAFE.test(path)) throw new GatewayError('INTERNAL', { detail: 'an unsafe upstream path' })
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${origin.slice(origin.indexOf('//') + 2)}\r\n`
  head += linesOf(headers)
  if (common !== undefined) head += commonLines(common)
  head += body !== null || method === 'POST' ? `content-length: ${body?.length ?? 0}\r\n\r\n` : '\r\n'
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
    if (!isSafeName(name)) throw new GatewayError('INTERNAL', { detail: 'an unsafe upstream header name' })
    text += `${name}: ${PLAIN_VALUE.test(value) ? value : bytesOf(value)}\r\n`
  }
  return text
}

/** Names are few: ours, and those of the configuration. */
const safeNames = new Set<string>()
const MAX_SAFE_NAMES = 1_000

function isSafeName(name: string): boolean {
  if (safeNames.has(name)) return true
  if (UNSAFE.test(name)) return false
  if (safeNames.size < MAX_SAFE_NAMES) safeNames.add(name)
  return true
}

function bytesOf(value: string): string {
  if (UNSAFE_VALUE.test(value)) throw new GatewayError('INTERNAL', { detail: 'a line break in an upstream header' })
  return BEYOND_LATIN1.test(value) ? utf8Bytes(value) : value
}

/**
 * The server decodes most fields as UTF-8. Written as Latin-1 such a value would keep the low byte of each character, and that of
 * U+010A is a line feed: its UTF-8 is sent instead.
 */
function utf8Bytes(value: string): string {
  return Buffer.from(value).toString('latin1')
}
