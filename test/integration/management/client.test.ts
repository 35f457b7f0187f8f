import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ApiError, AuthenticationError, SluiceClient } from '../../../src/client/index.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'

let gateway: TestGateway
let client: SluiceClient

beforeAll(async () => {
  gateway = await startGateway()
  client = new SluiceClient({ baseUrl: gateway.url, apiKey: gateway.apiKey })
  const { admin } = JSON.parse(readFileSync(join(gateway.dataDir, 'first-run.json'), 'utf8')) as {
    admin: { phone: string; password: string }
  }
  await client.login(admin)
}, 120_000)

afterAll(() => gateway.stop())

const CHAT = { model: 'sim-gpt', messages: [{ role: 'user' as const, content: 'Say hello' }] }

it('asks in each protocol, whole and as a stream', async () => {
  expect((await client.chat.create(CHAT)).choices[0]?.message.content).toContain('You said')
  let text = ''
  const stream = await client.chat.stream({ ...CHAT, stream_options: { include_usage: true } })
  let tokens: number | undefined
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? ''
    tokens = chunk.usage?.completion_tokens ?? tokens
  }
  expect(text).toContain('You said')
  expect(tokens).toBeGreaterThan(0)
  expect(stream.requestId).toMatch(/^req_/)

  const message = { ...CHAT, model: 'sim-claude', max_tokens: 50 }
  expect((await client.messages.create(message)).content[0]?.text).toContain('You said')
  const types: string[] = []
  for await (const { type } of await client.messages.stream(message)) types.push(type)
  expect(types[0]).toBe('message_start')
  expect(types.at(-1)).toBe('message_stop')
  expect((await client.messages.countTokens(message)).input_tokens).toBeGreaterThan(0)

  const events: unknown[] = []
  for await (const { type } of await client.responses.stream({ model: 'sim-gpt', input: 'Say hello' }))
    events.push(type)
  expect(events.at(-1)).toBe('response.completed')
  expect((await client.models.list()).data.map(({ id }) => id)).toContain('sim-gpt')
  expect((await client.models.get('sim-gpt')).object).toBe('model')
  expect((await client.health.get()).status).toBe('healthy')
  expect(await client.health.live()).toEqual({ status: 'ok' })
})

it('leaves a stream, and the gateway sees it', async () => {
  const slow = {
    ...CHAT,
    messages: [{ role: 'user' as const, content: '[[sim {"tokens":10000,"eventsPerSecond":50}]]' }],
  }
  const stream = await client.chat.stream(slow)
  for await (const chunk of stream) {
    expect(chunk.object).toBe('chat.completion.chunk')
    break
  }
  expect(await gateway.logRow(stream.requestId ?? '')).toMatchObject({ aborted: true })
})

it('makes one key of a creation that is sent twice', async () => {
  const name = 'made once'
  const options = { idempotencyKey: 'the-same' }
  const first = await client.management.keys.createKey({ body: { name } }, options)
  const second = await client.management.keys.createKey({ body: { name } }, options)
  expect(second).toEqual(first)
  const keys = []
  for await (const key of client.list('listKeys', { query: { limit: 1 } })) keys.push(key)
  expect(keys.filter((key) => key.name === name)).toHaveLength(1)
})

it('changes only what has not changed since', async () => {
  const { id } = await client.management.keys.createKey({ body: { name: 'first' } })
  const { etag } = await client.callWithHeaders('getKey', { params: { id } })
  expect(etag).not.toBeNull()
  const ifMatch = etag ?? ''
  await client.call('updateKey', { params: { id }, body: { name: 'second' } }, { ifMatch })
  const late: unknown = await client
    .call('updateKey', { params: { id }, body: { name: 'third' } }, { ifMatch })
    .catch((cause: unknown) => cause)
  expect(late).toBeInstanceOf(ApiError)
  expect(late).toMatchObject({ statusCode: 412 })
  expect((await client.management.keys.getKey({ params: { id } })).name).toBe('second')
})

it('exports the log as it is', async () => {
  const { id } = (await client.management.keys.listKeys()).data[0] ?? { id: '' }
  const mine = await client.management.keys.rotateKey({ params: { id } })
  const caller = new SluiceClient({ baseUrl: gateway.url, apiKey: mine.key })
  await eventually(async () => {
    await caller.chat.create(CHAT)
  })
  await eventually(
    async () => {
      const file = await client.call('exportLogs', { query: { format: 'ndjson', key_id: id } })
      const rows = (await file.text()).trimEnd().split('\n')
      expect(rows.map((row) => (JSON.parse(row) as { status: number }).status)).toContain(200)
    },
    { timeoutMs: 40_000 },
  )
  const csv = await client.call('exportLogs', { query: { key_id: id } })
  expect(csv.contentType).toContain('text/csv')
  let size = 0
  for await (const bytes of csv) size += bytes.byteLength
  expect(size).toBeGreaterThan(100)
})

it('tells errors by their class', async () => {
  const stranger = new SluiceClient({ baseUrl: gateway.url, apiKey: 'sk-none', token: 'none' })
  await expect(stranger.chat.create(CHAT)).rejects.toBeInstanceOf(AuthenticationError)
  await expect(stranger.management.session.me()).rejects.toMatchObject({ statusCode: 401, code: 'TOKEN_INVALID' })
  await expect(client.chat.create({ ...CHAT, temperature: 9 })).rejects.toMatchObject({
    statusCode: 400,
    code: 'INVALID_FIELD',
    param: '/temperature',
  })
  await expect(client.call('getKey', { params: { id: 'none' } })).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

it('is what the package exports', async () => {
  // By its name, as programs load it.
  const name = 'sluice/client'
  const exported = (await import(/* @vite-ignore */ name)) as { SluiceClient: typeof SluiceClient }
  expect((await new exported.SluiceClient({ baseUrl: gateway.url }).health.live()).status).toBe('ok')
})
