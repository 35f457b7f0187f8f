import { GatewayError } from '../../core/errors.ts'
import type { UpstreamRequest } from '../upstream-client.ts'

/** Bodies up to this size leave in one write with their head: copying them is cheaper than a second piece. */
const COPIED_BYTES = 65_536
const UNSAFE = /[\r\n\0]/

/** Head and body as they go on the wire. Throws INTERNAL when a name, a value or the path would end its line. */
export function serializeRequest(request: UpstreamRequest): readonly Buffer[] {
  const { method, path, origin, headers, body } = request
  if (UNSAFE.test(path) || path.includes(' ')) throw new GatewayError('INTERNAL', { detail: 'an unsafe upstream path' })
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${origin.slice(origin.indexOf('//') + 2)}\r\n`
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] ?? ''
    const value = headers[i + 1] ?? ''
    if (UNSAFE.test(name) || UNSAFE.test(value)) {
      throw new GatewayError('INTERNAL', { detail: 'a line break in an upstream header' })
    }
    head += `${name}: ${value}\r\n`
  }
  head += body !== null || method === 'POST' ? `content-length: ${body?.length ?? 0}\r\n\r\n` : '\r\n'
  if (body === null || body.length === 0) return [Buffer.from(head, 'latin1')]
  if (body.length > COPIED_BYTES) return [Buffer.from(head, 'latin1'), body]
  const bytes = Buffer.allocUnsafe(head.length + body.length)
  bytes.write(head, 0, 'latin1')
  body.copy(bytes, head.length)
  return [bytes]
}
