import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { ChunkedBody } from '../../../src/simulator/chunked-body.ts'
import { parseHead } from '../../../src/simulator/http-head.ts'
import { startSimulator, type Simulator } from '../../../src/simulator/simulator.ts'
import { RawClient } from './raw-client.ts'
import { chatBody } from './requests.ts'
import fc from '../../support/fast-check.ts'

let simulator: Simulator
const clients: RawClient[] = []

beforeAll(async () => {
  simulator = await startSimulator({})
})
beforeEach(() => {
  simulator.reset()
})
afterEach(() => {
  for (const client of clients.splice(0)) client.close()
})
afterAll(() => simulator.close())

function open(): RawClient {
  const client = new RawClient(simulator.port)
  clients.push(client)
  return client
}

const answers = (client: RawClient): number => client.text.split('HTTP/1.1 ').length - 1
const JSON_BODY = JSON.stringify(chatBody('Hello'))
const HEAD = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n`

it('answers pipelined requests one after another, in order', async () => {
  const client = open()
  for (let i = 0; i < 5; i++) client.post('/v1/chat/completions', chatBody(`number${i}`))
  await client.until(() => (client.text.match(/You said: number/g) ?? []).length === 5)
  expect([...client.text.matchAll(/You said: number(\d)/g)].map((match) => match[1])).toEqual(['0', '1', '2', '3', '4'])
  expect(simulator.ledger.totals).toMatchObject({ ok: 5, maxInFlight: 1 })
})

it('reads a chunked body that arrives in any pieces', async () => {
  const half = JSON_BODY.length >> 1
  const chunks = [JSON_BODY.slice(0, half), JSON_BODY.slice(half)]
  const body = chunks.map((chunk) => `${chunk.length.toString(16)};note=1\r\n${chunk}\r\n`).join('')
  const client = open()
  for (const byte of `${HEAD}transfer-encoding: chunked\r\n\r\n${body}0\r\ntrailer: x\r\n\r\n`) client.send(byte)
  await client.until(() => client.text.includes('You said: Hello'))
  client.post('/v1/chat/completions', chatBody('again'))
  await client.until(() => client.text.includes('You said: again'))
})

it('takes chunks apart as they were put together, however they are cut', () => {
  const cutBytes = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 8 })
  fc.assert(
    fc.property(cutBytes, fc.integer({ min: 1, max: 50 }), (parts, step) => {
      const framed = parts.map((part) => Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, CRLF]))
      const wire = Buffer.concat([...framed, Buffer.from('0\r\n\r\n'), Buffer.from('NEXT')])
      const body = new ChunkedBody()
      let end = -1
      let at = 0
      for (; end === -1 && at < wire.length; at += step) end = body.read(wire.subarray(at, at + step), 0)
      expect(Buffer.concat(body.parts).equals(Buffer.concat(parts))).toBe(true)
      expect(at - step + end).toBe(wire.length - 4)
    }),
  )
})

const CRLF = Buffer.from('\r\n')

it('reads a body of many megabytes', async () => {
  const body = JSON.stringify(chatBody('word '.repeat(4_000_000)))
  const response = await fetch(`${simulator.origin}/v1/chat/completions`, { method: 'POST', body })
  expect(await response.json()).toMatchObject({ usage: { prompt_tokens: 4_000_000 } })
  expect(simulator.requests()[0]).toMatchObject({ bodyBytes: body.length })
})

it('refuses a body over 64 MiB before it comes', async () => {
  const client = await open()
    .send(`${HEAD}content-length: ${64 * 1024 * 1024 + 1}\r\n\r\n`)
    .ended()
  expect(client.head).toContain('HTTP/1.1 413')
  expect(simulator.ledger.totals.inFlight).toBe(0)
})

it('invites a body that asks whether to come', async () => {
  const client = open().send(`${HEAD}expect: 100-continue\r\ncontent-length: ${JSON_BODY.length}\r\n\r\n`)
  await client.until(() => client.text === 'HTTP/1.1 100 Continue\r\n\r\n')
  await client.send(JSON_BODY).until(() => client.text.includes('You said: Hello'))
})

it('hangs up after the answer when asked to, and for HTTP/1.0', async () => {
  const closing = await open().post('/chat/completions', chatBody('x'), { connection: 'close' }).ended()
  expect(closing.head).toContain('connection: close')
  const stream = JSON.stringify(chatBody('x', { stream: true }))
  const old = `POST /chat/completions HTTP/1.0\r\ncontent-length: ${stream.length}\r\n\r\n${stream}`
  const client = await open().send(old).ended()
  expect(client.head).not.toContain('chunked')
  expect(client.body.endsWith('data: [DONE]\n\n')).toBe(true)
})

it.each([
  'NONSENSE\r\n\r\n',
  'GET / HTTP/2.0\r\n\r\n',
  `${HEAD}no colon\r\n\r\n`,
  `${HEAD}content-length: 1\r\ncontent-length: 1\r\n\r\n`,
  `${HEAD}content-length: -1\r\n\r\n`,
  `${HEAD}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n`,
  `${HEAD}transfer-encoding: gzip\r\n\r\n`,
  `${HEAD}transfer-encoding: chunked\r\n\r\nzz\r\n`,
])('refuses %j with 400 and hangs up', async (bytes) => {
  const client = await open().send(bytes).ended()
  expect(client.head).toMatch(/^HTTP\/1\.1 400 /)
  expect(simulator.ledger.totals.inFlight).toBe(0)
})

it('refuses a head without end', async () => {
  expect((await open().send('GET / HTTP/1.1\r\nx: '.padEnd(70_000, 'x')).ended()).head).toContain('HTTP/1.1 431')
})

it('survives any bytes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 200 }), async (bytes) => {
      const client = new RawClient(simulator.port)
      client.send(Buffer.concat([bytes, Buffer.from('\r\n\r\n')]))
      client.socket.end()
      await client.ended()
      expect(answers(client)).toBeLessThanOrEqual(1)
    }),
    { numRuns: 200 },
  )
  expect((await fetch(simulator.origin, { method: 'HEAD' })).status).toBe(200)
  expect(simulator.ledger.totals.inFlight).toBe(0)
})

it('never gives a head that a header could have smuggled another into', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const head = parseHead(`GET / HTTP/1.1\r\nx: ${text.replaceAll('\r\n', ' ')}`)
      if (head !== null) expect(Object.keys(head.headers)).toEqual(['x'])
    }),
  )
})
