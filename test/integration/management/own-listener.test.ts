import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/free-port.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { LiveStream } from '../../support/live-streams.ts'
import { ManagementClient } from '../../support/management-client.ts'

let gateway: TestGateway
let url: string
let port: number
let token: string

beforeAll(async () => {
  port = await freePort()
  url = `http://127.0.0.1:${port}`
  gateway = await startGateway({ config: { management: { port } } })
  token = (await ManagementClient.ofAdmin(gateway)).token ?? ''
})

afterAll(async () => {
  await gateway.stop()
})

it('serves the management plane as the public port does', async () => {
  const own = new ManagementClient(url, token)
  const made = await own.expect('createKey', 201, { body: { name: 'by its own listener' } })
  const found = await own.expect('listKeys', 200, { query: { limit: '10' } })
  expect((found.json['data'] as Array<{ id: string }>).map(({ id }) => id)).toContain(made.json['id'])
  await own.expect('listKeys', 401, { token: null })
  await own.expect('getKey', 404, { params: { id: 'key_none' } })
  const [theirs, ours] = await Promise.all([fetch(`${gateway.url}/openapi.json`), fetch(`${url}/openapi.json`)])
  expect(await ours.text()).toBe(await theirs.text())
})

it('knows no AI endpoints', async () => {
  const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: '{}' })
  expect(answer.status).toBe(404)
  expect(await answer.json()).toMatchObject({ error: { code: 'ROUTE_NOT_FOUND' } })
})

it('streams exports', async () => {
  const answer = await fetch(`${url}/api/logs/export`, { headers: { authorization: `Bearer ${token}` } })
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toContain('text/csv')
  await answer.text()
})

it('streams live events, and forgets the streams of clients that leave', async () => {
  const own = new ManagementClient(url, token)
  for (let turn = 0; turn < 6; turn++) {
    const stream = await eventually(async () => {
      const opened = await LiveStream.of(url, own, 'adminLive')
      expect(opened.status).toBe(200)
      return opened
    })
    await eventually(() => {
      expect(stream.events.map(({ event }) => event)).toEqual(expect.arrayContaining(['ready', 'now']))
    })
    // The last one is open while the gateway ends.
    if (turn < 5) stream.leave()
  }
})

it('refuses bodies that are too large, and says so', async () => {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ name: 'x'.repeat(5 * 1024 * 1024) })
  const answer = await fetch(`${url}/api/keys`, { method: 'POST', headers, body })
  expect(answer.status).toBe(413)
  expect(await answer.json()).toMatchObject({ error: { code: 'BODY_TOO_LARGE' } })
})

it('refuses more than it can have under way, and serves again when they are gone', async () => {
  const head = `POST /api/keys HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-length: 10\r\n\r\n{`
  const waiting = Array.from({ length: 256 }, () => connect(port, '127.0.0.1'))
  await Promise.all(waiting.map((socket) => once(socket, 'connect')))
  for (const socket of waiting) socket.write(head)
  const own = new ManagementClient(url, token)
  await eventually(async () => {
    const refused = await own.call('listKeys')
    expect(refused).toMatchObject({ status: 429, json: { error: { code: 'CONCURRENCY_EXCEEDED' } } })
    expect(refused.headers.get('retry-after')).toBe('1')
  })
  for (const socket of waiting) socket.destroy()
  await eventually(async () => {
    await own.expect('listKeys', 200)
  })
})
