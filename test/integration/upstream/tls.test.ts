import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { systemClock } from '../../../src/shared/runtime/clock.ts'
import { DeadlineClock } from '../../../src/shared/runtime/deadlines.ts'
import type { GatewayError } from '../../../src/shared/core/errors.ts'
import { Http1Client } from '../../../src/front/upstream/http1/http1-client.ts'

const file = (name: string): Buffer => readFileSync(new URL(`../../fixtures/tls/${name}`, import.meta.url))
const TIMEOUTS = { connectMs: 2_000, firstByteMs: 2_000, idleMs: 2_000, totalMs: 5_000 }

const deadlines = new DeadlineClock(systemClock, 10)
const client = new Http1Client({ deadlines, maxConnections: 2 })
let server: Server
let connections = 0

beforeAll(async () => {
  deadlines.start()
  server = createServer({ cert: file('localhost.crt'), key: file('localhost.key') }, (request, response) => {
    response.end(`${request.method} ${request.headers.host}`)
  })
  server.on('secureConnection', () => (connections += 1))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterEach(() => {
  vi.unstubAllEnvs()
})
afterAll(async () => {
  await client.close()
  deadlines.stop()
  server.closeAllConnections()
  server.close()
})

function call(): Promise<string> {
  const { port } = server.address() as AddressInfo
  return new Promise((resolve, reject) => {
    let text = ''
    client.send(
      {
        origin: `https://localhost:${port}`,
        path: '/',
        method: 'POST',
        headers: [],
        body: Buffer.from('x'),
        timeouts: TIMEOUTS,
      },
      {
        onHead: () => undefined,
        onData: (bytes) => {
          text += bytes.toString()
        },
        onEnd: () => {
          resolve(text)
        },
        onError: (error: GatewayError) => {
          reject(error)
        },
      },
    )
  })
}

it('sends nothing to a server whose certificate nobody vouches for', async () => {
  await expect(call()).rejects.toMatchObject({ code: 'UPSTREAM_UNREACHABLE' })
})

it('speaks TLS on connections that it keeps', async () => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  connections = 0
  const { port } = server.address() as AddressInfo
  expect(await call()).toBe(`POST localhost:${port}`)
  expect(await call()).toBe(`POST localhost:${port}`)
  expect(connections).toBe(1)
})
