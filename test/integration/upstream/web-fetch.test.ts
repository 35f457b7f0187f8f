import { once } from 'node:events'
import { createServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { openSocket } from '../../../src/front/upstream/connector.ts'
import { WebFetch } from '../../../src/front/upstream/web-fetch.ts'
import { UpstreamReach } from '../../../src/shared/core/upstream-reach.ts'
import { systemClock } from '../../../src/shared/runtime/clock.ts'

const closings: Array<() => Promise<unknown>> = []

afterEach(async () => {
  for (const close of closings.splice(0)) await close()
})

async function serve(listener: RequestListener): Promise<Server> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closings.push(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  return server
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port

type Options = Partial<Parameters<WebFetch['within']>[0]>

function fetchWith(options: Options = {}, network: Partial<ConstructorParameters<typeof WebFetch>[1]> = {}) {
  const onFault = (cause: unknown): void => {
    throw cause
  }
  const web = new WebFetch(systemClock, { reach: new UpstreamReach(['127.0.0.1']), ...network, onFault })
  closings.push(() => web.close())
  return web.within({
    publicOnly: true,
    connectMs: 1_000,
    firstByteMs: 5_000,
    maxBytes: 1_000,
    mayStream: () => true,
    onTooLarge: () => null,
    ...options,
  })
}

it('connects to no inner address, whatever its name resolves to', async () => {
  let connections = 0
  const call = fetchWith(
    {},
    {
      reach: new UpstreamReach(),
      lookup: (_host, _options, found) => {
        found(null, [{ address: '10.0.0.1', family: 4 }])
      },
      connect: (options) => {
        const socket = openSocket(options)
        socket.on('connect', () => (connections += 1))
        return socket
      },
    },
  )
  await expect(call('http://tools.example.com/')).rejects.toMatchObject({ code: 'UPSTREAM_UNREACHABLE' })
  await expect(call('http://192.168.0.1/')).rejects.toMatchObject({ code: 'UPSTREAM_UNREACHABLE' })
  expect(connections).toBe(0)
})

it('follows no redirect', async () => {
  const server = await serve((_, res) => res.writeHead(302, { location: '/elsewhere' }).end())
  const answer = fetchWith()(`http://127.0.0.1:${portOf(server)}/`)
  await expect(answer).rejects.toMatchObject({ code: 'UPSTREAM_INVALID_ANSWER' })
})

it('breaks a body off that is too large', async () => {
  const server = await serve((_, res) => res.end('x'.repeat(2_000)))
  const answer = await fetchWith()(`http://127.0.0.1:${portOf(server)}/`)
  await expect(answer.text()).rejects.toMatchObject({ code: 'UPSTREAM_BODY_TOO_LARGE' })
})

it('passes a stream whose events are small, however many there are, and puts an event in place of a large one', async () => {
  const small = 'data: 1\r\n\r\n'.repeat(500)
  const server = await serve((_, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.end(`${small}data: ${'x'.repeat(2_000)}\n\ndata: after\n\n`)
  })
  const sent: Array<string | null> = []
  const call = fetchWith({ onTooLarge: (body) => `data: instead of ${String(sent.push(body))}\n\n` })
  const answer = await call(`http://127.0.0.1:${portOf(server)}/`, { method: 'POST', body: 'asked' })
  const text = await answer.text()
  expect(text.replaceAll('data: 1', '').trim()).toBe('data: instead of 1')
  expect(text.match(/data: 1\r/g)).toHaveLength(500)
  expect(sent).toEqual(['asked'])
})

it.each([
  ['of an error', 500, 'text/event-stream', true],
  ['of another success', 202, 'text/event-stream', true],
  ['where none is read as one', 200, 'text/event-stream', false],
  ['of a type that only begins so', 200, 'text/event-streams', true],
])('bounds a stream %s like any other body', async (_, status, type, mayStream) => {
  const server = await serve((_req, res) => {
    res.writeHead(status, { 'content-type': type }).end(':\n\n'.repeat(1_000))
  })
  const asked: unknown[] = []
  const call = fetchWith({
    mayStream: (...request) => {
      asked.push(request)
      return mayStream
    },
  })
  const answer = await call(`http://127.0.0.1:${portOf(server)}/`, { method: 'POST', body: 'asked' })
  await expect(answer.text()).rejects.toMatchObject({ code: 'UPSTREAM_BODY_TOO_LARGE' })
  expect(asked).toEqual(mayStream ? [] : [['POST', 'asked']])
})

it('ends with its signal, and closes the connection', async () => {
  const server = await serve((_, res) => {
    res.writeHead(200).write('first')
  })
  const leaves = new AbortController()
  const closed = once(server, 'connection').then(([socket]) => once(socket as Socket, 'close'))
  const answer = await fetchWith()(`http://127.0.0.1:${portOf(server)}/`, { signal: leaves.signal })
  const text = answer.text()
  leaves.abort()
  await expect(text).rejects.toThrow()
  await closed
})
