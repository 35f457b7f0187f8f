import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import type { Vector } from '../../support/smuggling-vectors.ts'
import { chunkVectors, framingVectors, headVectors } from '../../support/smuggling-vectors.ts'
import { WireClient, requestText, untilClosed } from '../../support/wire-client.ts'

let simulator: Simulator
let gateway: TestGateway

// The heads of the vectors are made before the gateway has its port: the key is put in as they are sent.
const KEY = 'THE-API-KEY'
const HEADERS = [`Authorization: Bearer ${KEY}`, 'Content-Type: application/json']
const HIDDEN = 'hidden-request'
const BODY = chatBody('visible')

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
    config: { server: { body_timeout_ms: 2_000 } },
  })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

describe('a request that must be refused', () => {
  const vectors = [...headVectors(), ...framingVectors(HEADERS, BODY), ...chunkVectors(HEADERS, BODY)]

  it('has 225 shapes and more', () => {
    expect(vectors.length).toBeGreaterThan(225)
  })

  it.concurrent.each(vectors)('$name: nothing behind it on the connection is served', async (vector) => {
    const answers = await untilClosed(gateway.port, withKey(vector.bytes + hiddenRequest()))
    expect(answers.length).toBeLessThanOrEqual(1)
    expect(hiddenSeen()).toBe(0)
  })

  it('never let a hidden request through to the provider', async () => {
    await chat('fence')
    expect(simulator.requests().some(({ body }) => body.includes('fence'))).toBe(true)
    expect(hiddenSeen()).toBe(0)
  })

  it('is not the honest one: what stands behind that is served', async () => {
    const client = await WireClient.connect(gateway.port)
    client.send(withKey(requestText('GET /health/live HTTP/1.1', ['Host: gateway']) + hiddenRequest()))
    const answers = await client.waitFor(2)
    client.close()
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(hiddenSeen()).toBe(1)
  })
})

describe('the answer to bad framing', () => {
  // With nothing behind it there is time for an answer.
  const alone = [...headVectors(), ...framingVectors(HEADERS, BODY)].filter(({ endless }) => endless !== true)
  const missing = 'neither length nor encoding'

  it.concurrent.each(alone)('$name: a refusal, and the end of the connection', async ({ name, bytes }) => {
    const client = await WireClient.connect(gateway.port)
    const answers = await client.send(withKey(bytes)).waitForClose()
    const withoutLength = name === missing || name.startsWith('an empty name')
    expect(answers).toHaveLength(1)
    expect(withoutLength ? [411] : [400, 505]).toContain(answers[0]?.status)
    expect(answers[0]?.headers.get('connection')).toEqual(['close'])
    expect(answers[0]?.headers.get('server')).toBeUndefined()
  })

  it('has our shape where our guard gave it, and is recorded', async () => {
    const [answer] = await untilClosed(gateway.port, withKey(named(alone, 'the same Content-Length twice').bytes))
    expect(answer?.status).toBe(400)
    expect(JSON.parse(answer?.body.toString() ?? '')).toMatchObject({
      error: { type: 'invalid_request', code: 'INVALID_FRAMING', message: expect.stringContaining('content-length') },
    })
    const row = await gateway.logRow(answer?.headers.get('x-request-id')?.[0] ?? '')
    expect(row).toMatchObject({ status: 400, error_code: 'INVALID_FRAMING', key: null, attempts: 0 })
  })

  it('is 411 for a POST without a length', async () => {
    const [answer] = await untilClosed(gateway.port, withKey(named(alone, missing).bytes))
    expect(JSON.parse(answer?.body.toString() ?? '')).toMatchObject({ error: { code: 'LENGTH_REQUIRED' } })
  })
})

describe('what waits for the end of a head that never comes', () => {
  const endless = [
    ...[...headVectors(), ...framingVectors(HEADERS, BODY)].filter((vector) => vector.endless === true),
    { name: 'a bare CR in a value', bytes: 'GET /health/live HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n' },
    { name: 'an empty line before the request', bytes: '\r\n\r\nGET /health/live HTTP/1.1\r\nHost: a\r\n\r\n' },
    { name: 'HTTP/0.9', bytes: 'GET /health/live\r\n\r\n' },
    { name: 'no HTTP', bytes: 'hello\r\n\r\n' },
    { name: 'a TLS hello', bytes: '\x16\x03\x01\x02' },
  ]

  it.concurrent.each(endless)('$name: is cut without a request having been served', async ({ bytes }) => {
    const answers = await untilClosed(gateway.port, withKey(bytes + hiddenRequest()))
    expect(answers.every(({ status }) => status >= 400)).toBe(true)
  })

  it('left nothing behind at the provider', () => {
    // One is that of the honest connection above.
    expect(hiddenSeen()).toBe(1)
  })
})

it('takes a chunked request, and closes its connection', async () => {
  const half = BODY.length >> 1
  const chunks = [BODY.slice(0, half), BODY.slice(half)].map((text) => `${text.length.toString(16)}\r\n${text}\r\n`)
  const head = ['Host: gateway', ...HEADERS, 'Transfer-Encoding: Chunked']
  const bytes = requestText('POST /v1/chat/completions HTTP/1.1', head, `${chunks.join('')}0\r\n\r\n`)
  const answers = await untilClosed(gateway.port, withKey(bytes))
  expect(answers.map(({ status }) => status)).toEqual([200])
  expect(answers[0]?.headers.get('connection')).toEqual(['close'])
})

function named(vectors: readonly Vector[], name: string): Vector {
  const found = vectors.find((vector) => vector.name === name)
  if (found === undefined) throw new Error(`no vector ${name}`)
  return found
}

function chatBody(content: string): string {
  return JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] })
}

function withKey(text: string): string {
  return text.replaceAll(KEY, gateway.apiKey)
}

function hiddenRequest(): string {
  const body = chatBody(HIDDEN)
  const head = ['Host: gateway', ...HEADERS, `Content-Length: ${body.length}`]
  return requestText('POST /v1/chat/completions HTTP/1.1', head, body)
}

function hiddenSeen(): number {
  return simulator.requests().filter(({ body }) => body.includes(HIDDEN)).length
}

async function chat(content: string): Promise<void> {
  const response = await eventually(() =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' },
      body: chatBody(content),
    }),
  )
  expect(response.status).toBe(200)
}
