import { fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { findBehaviour, parseBehaviour, withoutSteering } from '../../../src/simulator/behaviour.ts'
import { startSimulator, type Simulator } from '../../../src/simulator/simulator.ts'
import { chunksOf, RawClient } from './raw-client.ts'
import { chatBody, OPENAI, post, type Json } from './requests.ts'
import fc from '../../support/fast-check.ts'

const SIMULATOR = fileURLToPath(new URL('../../../dist/simulator/main.js', import.meta.url))

let simulator: Simulator

beforeAll(async () => {
  simulator = await startSimulator({ defaults: { text: 'default' } })
})
beforeEach(() => {
  simulator.reset()
})
afterAll(() => simulator.close())

async function control(method: string, path: string, body?: unknown): Promise<Json> {
  const init = body === undefined ? { method } : { method, body: JSON.stringify(body) }
  const response = await fetch(`${simulator.origin}/__sim/${path}`, init)
  return { status: response.status, ...((await response.json()) as object) }
}

async function said(text = 'x', headers: Record<string, string> = OPENAI): Promise<string> {
  const response = await post(`${simulator.origin}/v1/chat/completions`, chatBody(text), headers)
  return ((await response.json()) as Json).choices[0].message.content as string
}

it('lets the request win over the script, the script over the key, the key over the defaults', async () => {
  expect(await said()).toBe('default')
  await control('PUT', 'defaults', { text: 'changed' })
  expect(await said()).toBe('changed')
  await control('PUT', 'keys/key-o', { text: 'key' })
  expect(await said()).toBe('key')
  expect(await said('x', {})).toBe('changed')
  await control('PUT', 'script', [{ text: 'first' }, { text: 'second' }])
  expect([await said(), await said(), await said()]).toEqual(['first', 'second', 'key'])
  expect(await said('x', { ...OPENAI, 'x-sim': '{"text":"header"}' })).toBe('header')
  expect(await said('Please [[sim {"text":"written"}]] do', { ...OPENAI, 'x-sim': '{"text":"header"}' })).toBe(
    'written',
  )
  await control('POST', 'reset')
  expect(await said()).toBe('default')
})

it('tells what it counted', async () => {
  await said()
  const stats = await control('GET', 'stats')
  expect(stats).toMatchObject({ started: 1, ok: 1, keys: { 'key-o': { started: 1 } }, redirectsFollowed: 0 })
  expect(stats.connections.open).toBeGreaterThan(0)
  const records: Json[] = Object.values(await control('GET', 'records?since=0&limit=5')).filter((it: Json) => it.n > 0)
  expect(records).toMatchObject([{ outcome: 'ok', status: 200 }])
})

it('shows the requests as they arrived', async () => {
  const body = JSON.stringify(chatBody('x'.repeat(100_000), { user: 'big' }))
  await (await post(`${simulator.origin}/v1/chat/completions?a=b`, body, { ...OPENAI, 'x-mark': 'seen' })).text()
  await said('small')
  const [first, second] = simulator.requests()
  expect(first).toMatchObject({
    method: 'POST',
    path: '/v1/chat/completions',
    query: 'a=b',
    credential: 'key-o',
    status: 200,
  })
  expect(first?.headers['x-mark']).toBe('seen')
  expect(first?.bodySha256).toBe(createHash('sha256').update(body).digest('hex'))
  expect([first?.body.length, first?.bodyBytes]).toEqual([65_536, body.length])
  expect(second?.body).toBe(JSON.stringify(chatBody('small')))
  const since = await control('GET', `requests?since=${first?.n}`)
  expect(since[0].n).toBe(second?.n)
  expect(since[1]).toBeUndefined()
})

it('says what is wrong with what it is told', async () => {
  expect(await control('PUT', 'keys/a', { ttft: 1 })).toEqual({
    status: 400,
    error: 'a behaviour has no member "ttft"',
  })
  expect(await control('PUT', 'script', {})).toMatchObject({ status: 400 })
  expect(await control('PUT', 'recorded', { id: 'x' })).toMatchObject({ status: 400 })
  expect(await control('GET', 'nothing')).toMatchObject({ status: 404 })
  expect(() => parseBehaviour({ __proto__: null, constructor: 1 })).toThrow('constructor')
})

const SSE = 'data: {"a":"äöü"}\n\ndata: [DONE]\n\n'

async function replay(splits: unknown, headers: Record<string, string>): Promise<RawClient> {
  await control('PUT', 'recorded', {
    id: 'r',
    status: 200,
    headers,
    body_base64: Buffer.from(SSE).toString('base64'),
    splits,
  })
  const client = new RawClient(simulator.port)
  client.post('/v1/chat/completions', chatBody('x', { stream: true }), {
    'x-sim': '{"recorded":"r"}',
    connection: 'close',
  })
  const isDone = (it: RawClient): boolean => it.text.endsWith('0\r\n\r\n') || it.text.endsWith('[DONE]\n\n')
  await client.until(isDone)
  client.close()
  return client
}

it('replays recorded bytes, cut where it is told', async () => {
  const headers = { 'Content-Type': 'text/event-stream', 'x-vendor': 'yes' }
  for (const splits of [undefined, [3, 14], 'bytes', 42]) {
    const client = await replay(splits, headers)
    expect(client.head).toContain('x-vendor: yes')
    expect(chunksOf(client).body).toBe(SSE)
  }
  const whole = await replay('bytes', { 'content-type': 'application/json' })
  expect(whole.head).toContain(`content-length: ${Buffer.byteLength(SSE)}`)
  expect(whole.body).toBe(SSE)
  expect(whole.pieces.length).toBeGreaterThan(5)
})

it('replays any bytes with any cuts unchanged', async () => {
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 300 })
  const splits = fc.oneof(fc.array(fc.integer({ min: 0, max: 320 }), { maxLength: 20 }), fc.nat(), fc.constant('bytes'))
  await fc.assert(
    fc.asyncProperty(bytes, splits, async (body, cuts) => {
      simulator.record({ id: 'p', status: 200, headers: {}, body: Buffer.from(body), splits: cuts })
      const response = await post(`${simulator.origin}/x/messages`, '{"messages":', { 'x-sim': '{"recorded":"p"}' })
      const refused = await response.text()
      expect(refused).toContain('invalid_request_error')
      const answer = await post(`${simulator.origin}/chat/completions`, chatBody('x'), { 'x-sim': '{"recorded":"p"}' })
      expect(Buffer.from(await answer.arrayBuffer()).equals(Buffer.from(body))).toBe(true)
    }),
    { numRuns: 40 },
  )
})

it('finds its steering in a text and leaves the rest', () => {
  expect(findBehaviour('no steering')).toBeNull()
  expect(findBehaviour('a [[sim {"flap":[1,1],"headers":{"x":"]]"}}]] b')).toEqual({
    flap: [1, 1],
    headers: { x: ']]' },
  })
  expect(withoutSteering('a [[sim {"tokens":1}]] b')).toBe('a  b')
  expect(() => findBehaviour('[[sim nonsense]]')).toThrow('holds no JSON')
})

it('listens on the port it is given', async () => {
  await expect(startSimulator({ port: simulator.port })).rejects.toThrow('EADDRINUSE')
})

it('runs as a program: says its port, and ends with its parent or on SIGTERM', async () => {
  for (const stop of ['disconnect', 'SIGTERM'] as const) {
    const child = fork(SIMULATOR, {
      silent: true,
      execArgv: [],
      env: { SIMULATOR_PORT: '0' },
    })
    let printed = ''
    child.stdout?.on('data', (text: Buffer) => (printed += text.toString()))
    const [message] = (await once(child, 'message')) as [{ type: string; port: number }]
    expect(message.type).toBe('ready')
    const models = await fetch(`http://127.0.0.1:${message.port}/v1/models`)
    expect(models.status).toBe(200)
    await models.text()
    const exit = once(child, 'exit')
    if (stop === 'disconnect') child.disconnect()
    else child.kill('SIGTERM')
    expect((await exit)[0]).toBe(0)
    expect(JSON.parse(printed)).toEqual({ port: message.port })
  }
})
