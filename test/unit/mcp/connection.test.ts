import { describe, expect, it } from 'vitest'
import { Connection } from '../../../src/control/mcp/servers/connection.ts'
import type { Fetch } from '../../../src/control/mcp/servers/transports.ts'
import { UpstreamReach } from '../../../src/shared/core/upstream-reach.ts'
import { itLater } from '../../support/dose.ts'
import { toolServer } from '../../support/tool-server.ts'

interface Message {
  readonly id?: number
  readonly method: string
  readonly params: { readonly protocolVersion: string }
}

/** A server of tools without a socket. It gives a session, and `onDelete` ends it. */
function serverWith(onDelete: (session: string | null, signal: AbortSignal | null) => Promise<Response>): Fetch {
  return async (_, { method, body, headers, signal = null } = {}) => {
    if (method === 'DELETE') return onDelete(new Headers(headers).get('mcp-session-id'), signal)
    if (method === 'GET') return new Response(null, { status: 405 })
    const { id, method: asked, params } = JSON.parse(typeof body === 'string' ? body : '') as Message
    if (id === undefined) return new Response(null, { status: 202 })
    const result = {
      protocolVersion: params.protocolVersion,
      capabilities: {},
      serverInfo: { name: 'server', version: '1' },
    }
    const answer = asked === 'initialize' ? { result } : { error: { code: -32_601, message: 'Method not found' } }
    return Response.json({ jsonrpc: '2.0', id, ...answer }, { headers: { 'mcp-session-id': 'session-1' } })
  }
}

function connectTo(fetch: Fetch): Promise<Connection> {
  const parts = { reach: new UpstreamReach(), fetchWithin: () => fetch, version: '1' }
  return Connection.open(toolServer(), parts, { onChanged: () => undefined, signal: new AbortController().signal })
}

describe('the end of a connection', () => {
  it('ends the session at the server, once', async () => {
    const ended: Array<string | null> = []
    const connection = await connectTo(
      serverWith((session) => {
        ended.push(session)
        return Promise.resolve(new Response())
      }),
    )
    const closing = [connection.close(), connection.close()]
    expect(connection.isUsable).toBe(false)
    await Promise.all(closing)
    expect(ended).toEqual(['session-1'])
  })

  it.each([405, 404, 500])('takes %s for an answer', async (status) => {
    const connection = await connectTo(serverWith(() => Promise.resolve(new Response(null, { status }))))
    await connection.close()
    expect(connection.isUsable).toBe(false)
  })

  itLater('does not wait for a server that does not answer', async () => {
    let left: AbortSignal | null = null
    const connection = await connectTo(
      serverWith((_, signal) => {
        left = signal
        return new Promise(() => undefined)
      }),
    )
    await connection.close()
    expect(left).toMatchObject({ aborted: true })
  })
})
