import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { eventually } from '../../support/eventually.ts'
import type { LogRow, TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import type { WireAnswer } from '../../support/wire-client.ts'
import { WireClient, requestText } from '../../support/wire-client.ts'

let simulator: Simulator
let gateway: TestGateway

const MAX_BODY = 65_536
const BODY_TIMEOUT_MS = 1_500

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
    config: { server: { body_timeout_ms: BODY_TIMEOUT_MS }, limits: { max_body_bytes: MAX_BODY } },
  })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

describe('a body that is too large', () => {
  it.concurrent('is 413 when its length says so, before a byte of it has come', async () => {
    const client = await WireClient.connect(gateway.port)
    client.send(head([`Content-Length: ${MAX_BODY + 1}`]))
    const answers = await client.waitForClose()
    expect(answers.map(({ status }) => status)).toEqual([413])
    expect(errorOf(answers[0])).toMatchObject({ type: 'invalid_request', code: 'BODY_TOO_LARGE' })
    expect(answers[0]?.headers.get('connection')).toEqual(['close'])
  })

  it.concurrent.each([20_000_000, 1_000_000_000_000, 999_999_999_999_999])(
    'is 413 for a length of %i',
    async (length) => {
      const client = await WireClient.connect(gateway.port)
      const answers = await client.send(head([`Content-Length: ${length}`])).waitForClose()
      expect(answers.map(({ status }) => status)).toEqual([413])
    },
  )

  it.concurrent('is 413 when chunks add up to it', async () => {
    const client = await WireClient.connect(gateway.port)
    client.send(head(['Transfer-Encoding: chunked']))
    const piece = 'x'.repeat(16_384)
    for (let i = 0; i < 5; i++) client.send(`4000\r\n${piece}\r\n`)
    const answers = await client.waitForClose()
    expect(answers.map(({ status }) => status)).toEqual([413])
  })

  it.concurrent('passes at the very bound', async () => {
    const body = chatBody('x'.repeat(MAX_BODY - chatBody('').length))
    expect(body).toHaveLength(MAX_BODY)
    const client = await WireClient.connect(gateway.port)
    const [answer] = await client.send(head([`Content-Length: ${MAX_BODY}`]) + body).waitFor(1)
    client.close()
    expect(answer?.status).toBe(200)
  })

  it('reaches nobody', () => {
    for (const { bodyBytes } of simulator.requests()) expect(bodyBytes).toBeLessThanOrEqual(MAX_BODY + 64)
  })
})

describe('a body that does not come', () => {
  it.concurrent('is 408 after its time, and the end of the connection', async () => {
    const client = await WireClient.connect(gateway.port)
    client.send(head(['Content-Length: 100']) + '{"model":')
    const answers = await client.waitForClose()
    expect(answers.map(({ status }) => status)).toEqual([408])
    expect(errorOf(answers[0])).toMatchObject({ code: 'BODY_TIMEOUT' })
    const row = await rowOf(answers[0])
    expect(row).toMatchObject({ status: 408, error_code: 'BODY_TIMEOUT', attempts: 0 })
    // The coarse clock may be ahead.
    expect(row.total_us).toBeGreaterThanOrEqual((BODY_TIMEOUT_MS - 100) * 1_000)
  })

  it.concurrent('is 408 also when a byte comes now and then', async () => {
    const client = await WireClient.connect(gateway.port)
    client.send(head(['Content-Length: 100000']).replace('100000', '1000'))
    const drip = setInterval(() => client.send(' '), 100)
    const answers = await client.waitForClose()
    clearInterval(drip)
    expect(answers.map(({ status }) => status)).toEqual([408])
  })

  it.concurrent('is 408 for chunks too', async () => {
    const client = await WireClient.connect(gateway.port)
    const answers = await client.send(`${head(['Transfer-Encoding: chunked'])}5\r\nhello\r\n`).waitForClose()
    expect(answers.map(({ status }) => status)).toEqual([408])
  })

  it('is recorded as 499 when the client leaves in the middle, and leaves no descriptor behind', async () => {
    const [front] = gateway.children().filter(({ kind }) => kind === 'front')
    const descriptors = (): number => readdirSync(`/proc/${front?.pid}/fd`).length
    await health()
    const before = descriptors()
    const clients = await Promise.all(Array.from({ length: 30 }, () => WireClient.connect(gateway.port)))
    clients.forEach((client, index) => {
      client.send(head(['Content-Length: 500', `X-Client-Request-Id: abandoned-${index}`]) + '{"model"')
    })
    await eventually(() => {
      expect(descriptors()).toBeGreaterThanOrEqual(before + 30)
    })
    // FIN, not RST: what was sent before it is read before it.
    for (const client of clients) client.close()
    await eventually(() => {
      expect(descriptors()).toBeLessThanOrEqual(before + 2)
    })
    const rows = await eventually(async () => {
      const found = (await gateway.logRows()).filter(({ client_request_id: id }) => id?.startsWith('abandoned-'))
      expect(found).toHaveLength(30)
      return found
    })
    for (const row of rows) expect(row).toMatchObject({ status: 499, aborted: true, attempts: 0 })
  })
})

describe('the connection behind a body', () => {
  it('is kept after a refusal that needed no body and when all of it came', async () => {
    const client = await WireClient.connect(gateway.port)
    const wrong = chatBody('x').replace('"m"', '7')
    await client.send(head([`Content-Length: ${wrong.length}`]) + wrong).waitFor(1)
    const body = chatBody('after')
    const [refused, served] = await client.send(head([`Content-Length: ${body.length}`]) + body).waitFor(2)
    client.close()
    expect([refused?.status, served?.status]).toEqual([400, 200])
  })

  it('is kept when the refusal came before the body', async () => {
    const client = await WireClient.connect(gateway.port)
    const body = chatBody('late')
    const wrongKey = requestText('POST /v1/chat/completions HTTP/1.1', ['Host: a', `Content-Length: ${body.length}`])
    await client.send(wrongKey).waitFor(1)
    const [refused, served] = await client.send(body + head([`Content-Length: ${body.length}`]) + body).waitFor(2)
    client.close()
    expect([refused?.status, served?.status]).toEqual([401, 200])
  })

  it('serves 25 requests, one after the other', async () => {
    const client = await WireClient.connect(gateway.port)
    for (let i = 1; i <= 25; i++) {
      const body = chatBody(`number ${i}`)
      const answers = await client.send(head([`Content-Length: ${body.length}`]) + body).waitFor(i)
      expect(answers[i - 1]?.status).toBe(200)
      expect(answers[i - 1]?.body.toString()).toContain(`number ${i}`)
    }
    client.close()
  })
})

it('takes a body that comes byte by byte', async () => {
  const client = await WireClient.connect(gateway.port)
  const body = chatBody('byte by byte')
  const bytes = head([`Content-Length: ${body.length}`]) + body
  for (const byte of bytes) {
    client.send(byte)
    await new Promise(setImmediate)
  }
  const [answer] = await client.waitFor(1)
  client.close()
  expect(answer?.status).toBe(200)
})

it('answers a request that expects 100-continue once its body comes, whether or not it was told to go on', async () => {
  const client = await WireClient.connect(gateway.port)
  const body = chatBody('expected')
  client.send(head([`Content-Length: ${body.length}`, 'Expect: 100-continue']))
  await health()
  client.send(body)
  const answers = await eventually(() => {
    const final = client.answers.filter(({ status }) => status >= 200)
    expect(final).toHaveLength(1)
    return final
  })
  client.close()
  expect(answers[0]?.status).toBe(200)
})

it('lets an ordinary client read the 413 although it is still sending', async () => {
  const client = await WireClient.connect(gateway.port)
  client.send(head(['Content-Length: 8000000']))
  client.send(Buffer.alloc(8_000_000, 0x20))
  const answers = await client.waitForClose()
  expect(answers.map(({ status }) => status)).toEqual([413])
})

function chatBody(content: string): string {
  return JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] })
}

function head(headers: readonly string[]): string {
  const fixed = ['Host: a', `Authorization: Bearer ${gateway.apiKey}`, 'Content-Type: application/json']
  return requestText('POST /v1/chat/completions HTTP/1.1', [...fixed, ...headers])
}

async function health(): Promise<void> {
  await (await fetch(`${gateway.url}/health/live`)).text()
}

function errorOf(answer: WireAnswer | undefined): unknown {
  return (JSON.parse(answer?.body.toString() ?? '') as { error: unknown }).error
}

function rowOf(answer: WireAnswer | undefined): Promise<LogRow> {
  return gateway.logRow(answer?.headers.get('x-request-id')?.[0] ?? '')
}
