import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  ApiError,
  ConnectionError,
  RateLimitError,
  SluiceClient,
  SluiceError,
  TimeoutError,
} from '../../../src/client/index.ts'
import { events, hangUp, json, ScriptedServer } from '../../support/scripted-server.ts'

let server: ScriptedServer
let client: SluiceClient
beforeAll(async () => {
  server = await ScriptedServer.start()
  client = new SluiceClient({ baseUrl: server.url, apiKey: 'sk-test', token: 'jwt' })
})
afterAll(() => server.close())

const CHAT = { model: 'm', messages: [{ role: 'user' as const, content: 'hi' }] }
const MESSAGE = { ...CHAT, max_tokens: 10 }
const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`
const named = (value: { type: string }): string => `event: ${value.type}\n${data(value)}`
const failure = { error: { type: 'rate_limit', message: 'too fast', code: 'UPSTREAM_RATE_LIMITED', param: null } }

async function all<Value>(stream: AsyncIterable<Value>): Promise<Value[]> {
  const values: Value[] = []
  for await (const value of stream) values.push(value)
  return values
}

describe('streams', () => {
  it.each([1, 3, 7, 1000])('are read wherever they are cut: every %i bytes', async (size) => {
    const text = `: hello\r\n\r\ndata: {"text":"größer 🐘"}\r\n\r\nevent: x\rid: 7\rdata: {"a":\rdata: 1}\r\rdata: [DONE]\n\n`
    const bytes = Buffer.from(`\uFEFF${text}`)
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.subarray(at * size, (at + 1) * size),
    )
    server.script(events(pieces))
    expect(await all(await client.chat.stream(CHAT))).toEqual([{ text: 'größer 🐘' }, { a: 1 }])
    expect(JSON.parse(server.received[0]?.body ?? '')).toEqual({ ...CHAT, stream: true })
  })

  it('of messages end with message_stop, those of responses with what became of it', async () => {
    const messages = [{ type: 'message_start' }, { type: 'ping' }, { type: 'message_stop' }]
    server.script(events(messages.map(named)))
    expect(await all(await client.messages.stream(MESSAGE))).toEqual(messages)
    const responses = [{ type: 'response.created' }, { type: 'response.completed' }]
    server.script(events(responses.map(named)))
    expect(await all(await client.responses.stream({ model: 'm', input: 'hi' }))).toEqual(responses)
  })

  it('fail with the error that they tell of', async () => {
    server.script(events([data({ id: 1 }), data(failure)]))
    const read: unknown[] = []
    const reading = (async () => {
      for await (const chunk of await client.chat.stream(CHAT)) read.push(chunk)
    })()
    const error: unknown = await reading.catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(RateLimitError)
    expect(error).toMatchObject({ message: 'too fast', code: 'UPSTREAM_RATE_LIMITED', requestId: 'req_1' })
    expect(read).toEqual([{ id: 1 }])
    expect(server.received).toHaveLength(1)

    const inMessages = { type: 'error', error: { type: 'service_unavailable', message: 'busy' }, request_id: 'req_2' }
    server.script(events([named({ type: 'message_start' }), named(inMessages)]))
    const other: unknown = await all(await client.messages.stream(MESSAGE)).catch((cause: unknown) => cause)
    expect(other).toBeInstanceOf(ApiError)
    expect(other).toMatchObject({ statusCode: 503, type: 'service_unavailable', requestId: 'req_2' })
  })

  it('that end too early fail, whether they are ended or cut', async () => {
    server.script(events([data({ id: 1 })]))
    await expect(all(await client.chat.stream(CHAT))).rejects.toBeInstanceOf(ConnectionError)
    server.script(async (response, request) => {
      await events([data({ id: 1 })], { end: false })(response, request)
      response.destroy()
    })
    await expect(all(await client.chat.stream(CHAT))).rejects.toBeInstanceOf(ConnectionError)
    expect(server.received).toHaveLength(1)
    server.script(events(['data: nonsense\n\n']))
    await expect(all(await client.chat.stream(CHAT))).rejects.toThrow('not a JSON object')
  })

  it('that stand still fail', async () => {
    server.script(events([data({ id: 1 })], { end: false }))
    const stream = await client.chat.stream(CHAT, { timeoutMs: 300 })
    await expect(all(stream)).rejects.toBeInstanceOf(TimeoutError)
    await expect.poll(() => server.received[0]?.isAborted, { timeout: 10_000 }).toBe(true)
  })

  it('end the request when they are left', async () => {
    server.script(events([data({ id: 1 }), data({ id: 2 })], { end: false }))
    for await (const chunk of await client.chat.stream(CHAT)) {
      expect(chunk).toEqual({ id: 1 })
      break
    }
    await expect.poll(() => server.received[0]?.isAborted, { timeout: 10_000 }).toBe(true)
  })

  it('end when they are cancelled before they are read, and with the signal', async () => {
    server.script(events([data({ id: 1 })], { end: false }))
    const stream = await client.chat.stream(CHAT)
    stream.cancel()
    await expect.poll(() => server.received[0]?.isAborted, { timeout: 10_000 }).toBe(true)
    expect(() => stream[Symbol.asyncIterator]()).toThrow(SluiceError)

    server.script(events([data({ id: 1 })], { end: false }))
    const controller = new AbortController()
    const reading = (async () => {
      for await (const chunk of await client.chat.stream(CHAT, { signal: controller.signal })) {
        expect(chunk).toEqual({ id: 1 })
        controller.abort(new Error('enough'))
      }
    })()
    await expect(reading).rejects.toThrow('enough')
  })

  it('are over with their last event, also when the connection stays', async () => {
    server.script(events([data({ id: 1 }), 'data: [DONE]\n\n'], { end: false }))
    expect(await all(await client.chat.stream(CHAT))).toEqual([{ id: 1 }])
  })

  it('are asked for again until they begin', async () => {
    server.script(json(503, failure, { 'retry-after': '0' }), hangUp, events([data({ id: 1 }), 'data: [DONE]\n\n']))
    expect(await all(await client.chat.stream(CHAT))).toEqual([{ id: 1 }])
    expect(server.received).toHaveLength(3)
  })

  it('are refused where something else is answered', async () => {
    server.script(json(200, { id: 'whole' }))
    await expect(client.chat.stream(CHAT)).rejects.toThrow('application/json')
  })

  it('do not keep an event without an end', async () => {
    const block = `data: ${'x'.repeat(1024 * 1024)}`
    server.script(events([block, ...Array.from({ length: 9 }, () => 'x'.repeat(1024 * 1024))], { end: false }))
    await expect(all(await client.chat.stream(CHAT))).rejects.toThrow('too long')
  })
})

describe('files', () => {
  it('come as bytes, once', async () => {
    server.script((response) => {
      response.writeHead(200, { 'content-type': 'text/csv' })
      response.end('id,time\n1,é\n')
    })
    const file = await client.call('exportLogs', { query: { format: 'csv' } })
    expect(file.contentType).toBe('text/csv')
    expect(await file.text()).toBe('id,time\n1,é\n')
    await expect(file.text()).rejects.toThrow('already')
    expect(server.received[0]?.url).toBe('/api/logs/export?format=csv')
  })

  it('end the request when they are left', async () => {
    server.script((response) => {
      response.writeHead(200, { 'content-type': 'text/csv' })
      response.write('a')
    })
    for await (const bytes of await client.call('exportLogs')) {
      expect(Buffer.from(bytes).toString()).toBe('a')
      break
    }
    await expect.poll(() => server.received[0]?.isAborted, { timeout: 10_000 }).toBe(true)
  })
})

describe('lists', () => {
  it('go from page to page', async () => {
    const page = (number: number, more: boolean) =>
      json(200, { data: [{ id: number }], page: number, limit: 1, total: 2, has_more: more, next_cursor: null })
    server.script(page(1, true), page(2, false))
    expect(await all(client.list('listKeys', { query: { limit: 1 } }))).toEqual([{ id: 1 }, { id: 2 }])
    expect(server.received.map(({ url }) => url)).toEqual(['/api/keys?limit=1', '/api/keys?limit=1&page=2'])
  })

  it('follow cursors, and stop where the caller does', async () => {
    const page = (id: number, cursor: string | null) =>
      json(200, { data: [{ id }], limit: 1, has_more: cursor !== null, next_cursor: cursor })
    server.script(page(1, 'c1'), page(2, 'c2'), page(3, null))
    expect(await all(client.list('listLogs', { query: { model: 'm' } }))).toMatchObject([
      { id: 1 },
      { id: 2 },
      { id: 3 },
    ])
    expect(server.received.map(({ url }) => url)).toEqual([
      '/api/logs?model=m',
      '/api/logs?model=m&cursor=c1',
      '/api/logs?model=m&cursor=c2',
    ])
    server.script(page(1, 'c1'), page(2, null))
    for await (const row of client.list('listLogs')) {
      expect(row).toEqual({ id: 1 })
      break
    }
    expect(server.received).toHaveLength(1)
  })
})

it('makes one video, and waits for it', async () => {
  const job = (status: string) => json(200, { id: 'video-1', status })
  server.script(hangUp, job('queued'), job('in_progress'), job('completed'))
  const { id } = await client.videos.create({ model: 'm', prompt: 'a boat' })
  expect(await client.videos.wait(id, { everyMs: 1 })).toEqual({ id, status: 'completed' })
  const [first, second] = server.received
  expect(first?.headers['idempotency-key']).toBe(second?.headers['idempotency-key'])
  expect(JSON.parse(second?.body ?? '')).toEqual({ model: 'm', prompt: 'a boat', async: true })
  server.script(job('queued'))
  await expect(client.videos.wait(id, { everyMs: 1, timeoutMs: 50 })).rejects.toBeInstanceOf(TimeoutError)
})
