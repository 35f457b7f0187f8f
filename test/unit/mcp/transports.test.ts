import { expect, it } from 'vitest'
import { transportTo } from '../../../src/control/mcp/servers/transports.ts'
import type { AnswerBounds } from '../../../src/control/mcp/servers/transports.ts'
import { UpstreamReach } from '../../../src/shared/core/upstream-reach.ts'
import { toolServer } from '../../support/tool-server.ts'

/** The bounds of the answers that the transport gets. */
function boundsOf(transport: 'http' | 'sse', onTooLarge: () => void = () => undefined): AnswerBounds {
  const server = toolServer({ place: { url: 'https://tools.example.com/mcp', transport } })
  const asked: AnswerBounds[] = []
  const fetchWithin = (bounds: AnswerBounds) => {
    asked.push(bounds)
    return () => Promise.reject(new Error('no request is made'))
  }
  transportTo(server, { reach: new UpstreamReach(), fetchWithin }, onTooLarge, null)
  return asked[0] ?? expect.fail('the transport has no fetch')
}

const REQUEST = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call' })
const NOTIFICATION = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
const ANSWER = JSON.stringify({ jsonrpc: '2.0', id: 1, result: {} })

it.each([
  ['http', 'GET', null, true],
  ['http', 'POST', REQUEST, true],
  ['http', 'POST', NOTIFICATION, false],
  ['http', 'POST', ANSWER, false],
  ['http', 'DELETE', null, false],
  ['sse', 'GET', null, true],
  ['sse', 'POST', REQUEST, false],
] as const)('takes events one by one only where the SDK does: %s, %s %s: %s', (transport, method, sent, mayStream) => {
  expect(boundsOf(transport).mayStream(method, sent)).toBe(mayStream)
})

it('ends a call alone for its large answer, and the connection for any other', () => {
  let ended = 0
  const { onTooLarge } = boundsOf('http', () => (ended += 1))
  expect(onTooLarge(REQUEST)).toContain('"id":1')
  expect(ended).toBe(0)
  for (const sent of [NOTIFICATION, ANSWER, null]) expect(onTooLarge(sent)).toBeNull()
  expect(ended).toBe(3)
})
