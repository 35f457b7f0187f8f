import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { Ledger } from '../../../src/simulator/ledger.ts'
import { startSimulator, type Simulator } from '../../../src/simulator/simulator.ts'
import { countTokens } from '../../../src/simulator/tokens.ts'
import { chunksOf, eventsOf, RawClient } from './raw-client.ts'
import { ANTHROPIC, chatBody, messagesBody, OPENAI, post, type Json } from './requests.ts'

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

function stream(behaviour: unknown, more: Record<string, unknown> = {}): RawClient {
  const client = new RawClient(simulator.port)
  clients.push(client)
  const body = chatBody('Hello', { stream: true, ...more })
  return client.post('/v1/chat/completions', body, { ...OPENAI, 'x-sim': JSON.stringify(behaviour) })
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve))
}

it('books what was produced, per credential and in total', async () => {
  const url = simulator.origin
  const chat = await post(`${url}/v1/chat/completions`, chatBody('one two', { user: 'u-1' }), OPENAI)
  await chat.text()
  const metadata = { user_id: 'u-2' }
  const messages = await post(`${url}/v1/messages`, messagesBody('one', { stream: true, metadata }), ANTHROPIC)
  const events = eventsOf(await messages.text())
  expect(simulator.ledger.of('key-o')).toMatchObject({ started: 1, ok: 1, promptTokens: 2, completionTokens: 5 })
  expect(simulator.ledger.of('key-a')).toMatchObject({
    promptTokens: 1,
    completionTokens: 4,
    eventsWritten: events.length,
  })
  expect(simulator.ledger.totals).toMatchObject({
    started: 2,
    finished: 2,
    inFlight: 0,
    promptTokens: 3,
    completionTokens: 9,
  })
  expect(simulator.ledger.records()).toMatchObject([
    { credential: 'key-o', path: '/v1/chat/completions', model: 'gpt-4o', user: 'u-1', outcome: 'ok', status: 200 },
    { credential: 'key-a', path: '/v1/messages', user: 'u-2', outcome: 'ok', completionTokens: 4 },
  ])
})

it('counts exactly the bytes that reach the peer', async () => {
  const client = await stream({ tokens: 300 }).until((it) => it.text.endsWith('0\r\n\r\n'))
  expect(simulator.ledger.totals.bytesWritten).toBe(client.bytes.length)
})

it('sees a peer leave between two paced events, and books only the tokens that left', async () => {
  const client = stream({ tokens: 1000, eventsPerSecond: 0.1 })
  await client.until((it) => it.text.includes('\r\n\r\n') && eventsOf(chunksOf(it).body).length >= 1)
  const left = Date.now()
  client.close()
  await until(() => simulator.ledger.totals.aborted === 1)
  const [record] = simulator.ledger.records()
  expect(record).toMatchObject({ outcome: 'aborted', promptTokens: 1 })
  expect(record?.completionTokens).toBeLessThan(3)
  expect((record?.abortSeenAt ?? 0) - left).toBeLessThan(5000)
})

it('sees a peer leave before the first byte and during the upload', async () => {
  const waiting = stream({ ttftMs: 600_000 })
  await until(() => typeof simulator.requests()[0]?.bodyAt === 'number')
  waiting.close()
  await until(() => simulator.ledger.totals.aborted === 1)
  expect(simulator.ledger.totals).toMatchObject({ promptTokens: 0, completionTokens: 0, bytesWritten: 0 })

  const uploading = new RawClient(simulator.port)
  uploading.send('POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 99\r\n\r\n{')
  await until(() => simulator.ledger.totals.inFlight === 1)
  uploading.close()
  await until(() => simulator.ledger.totals.aborted === 2)
})

it('stops for a peer that does not read, sees it leave, and goes on for one that does', async () => {
  const tokens = 400_000
  const client = stream({ tokens })
  client.socket.pause()
  let written = -1
  // What was written stands still once the buffers of both sockets are full.
  await until(() => simulator.ledger.totals.bytesWritten > 0)
  for (let same = 0; same < 50;) {
    await new Promise((resolve) => setImmediate(resolve))
    same = simulator.ledger.totals.bytesWritten === written ? same + 1 : 0
    written = simulator.ledger.totals.bytesWritten
  }
  expect(simulator.ledger.totals.completionTokens).toBeLessThan(tokens)
  client.socket.resetAndDestroy()
  await until(() => simulator.ledger.totals.aborted === 1)

  const reader = stream({ tokens: 100_000 })
  let length = 0
  let tail = ''
  reader.socket.removeAllListeners('data')
  reader.socket.on('data', (piece: Buffer) => {
    length += piece.length
    tail = (tail + piece.toString()).slice(-5)
  })
  await until(() => tail === '0\r\n\r\n')
  const record = simulator.ledger.records().at(-1)
  expect(record).toMatchObject({ outcome: 'ok', completionTokens: 100_000, bytesOut: length })
})

it('keeps the gauge of what is in flight, also through a reset', async () => {
  const open = [stream({ fault: 'hang-before-headers' }), stream({ fault: 'hang-before-headers' })]
  await until(() => simulator.ledger.totals.inFlight === 2)
  simulator.reset()
  expect(simulator.ledger.totals).toMatchObject({ started: 0, inFlight: 2, maxInFlight: 2 })
  for (const client of open) client.close()
  await until(() => simulator.ledger.totals.inFlight === 0)
  expect(simulator.ledger.totals).toMatchObject({ aborted: 0, maxInFlight: 2 })
  expect(simulator.ledger.records()).toEqual([])
})

it('paces a stream and delays a buffered answer by what it would have taken', async () => {
  const started = performance.now()
  const client = await stream({ tokens: 20, eventsPerSecond: 100 }).until((it) => it.text.endsWith('0\r\n\r\n'))
  expect(performance.now() - started).toBeGreaterThan(200)
  // How many pieces come apart is up to the kernel.
  expect(client.pieces.length).toBeGreaterThan(1)
  const before = performance.now()
  await stream({ tokens: 20, eventsPerSecond: 100, ttftMs: 50 }, { stream: false }).until((it) =>
    it.text.includes('}}'),
  )
  expect(performance.now() - before).toBeGreaterThan(245)
})

it('produces as many tokens as the text has, whatever the prompt', async () => {
  const text = 'Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich — 了解!'
  const response = await post(`${simulator.origin}/chat/completions`, chatBody('x'), {
    'x-sim': JSON.stringify({ text }).replace(
      /[^\x20-\x7e]/g,
      (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  })
  const answer: Json = await response.json()
  expect(answer.choices[0].message.content).toBe(text)
  expect(answer.usage.completion_tokens).toBe(countTokens(text))
  expect(simulator.ledger.totals.completionTokens).toBe(countTokens(text))
})

it('forgets the oldest records past its bound, and counts all the same', () => {
  const ledger = new Ledger(3)
  for (let i = 0; i < 5; i++) ledger.end(ledger.begin('k', '/'), 'ok')
  expect(ledger.records().map((record) => record.n)).toEqual([3, 4, 5])
  expect(ledger.records(4).map((record) => record.n)).toEqual([5])
  expect(ledger.totals.finished).toBe(5)
})
