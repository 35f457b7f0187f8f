import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import type { WireAnswer } from '../../support/wire-client.ts'
import { WireClient, requestText } from '../../support/wire-client.ts'

let simulator: Simulator
let gateway: TestGateway

const MAX_IN_FLIGHT = 4

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
    config: { limits: { max_requests_in_flight: MAX_IN_FLIGHT } },
  })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

describe('pipelining', () => {
  it('answers requests that need no waiting in their order', async () => {
    const paths = Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? '/health/live' : `/nothing/${i}`))
    const client = await WireClient.connect(gateway.port)
    client.send(paths.map((path) => requestText(`GET ${path} HTTP/1.1`, ['Host: a'])).join(''))
    const answers = await client.waitFor(50)
    client.close()
    expect(answers.map(({ status }) => status)).toEqual(paths.map((path) => (path === '/health/live' ? 200 : 404)))
  })

  it('never answers out of order: behind a request that waits the connection ends, at the latest', async () => {
    const client = await WireClient.connect(gateway.port)
    client.send(chat('first') + chat('second'))
    const answers = await eventually(() => {
      expect(client.closed || client.answers.length === 2).toBe(true)
      return client.answers
    })
    client.close()
    const texts = answers.map(({ body }) => body.toString())
    expect(texts[0] ?? 'first').toContain('first')
    expect(texts[1] ?? 'second').toContain('second')
  })

  it('does not end the connection for requests that take turns', async () => {
    const client = await WireClient.connect(gateway.port)
    for (let i = 1; i <= 10; i++) {
      await client
        .send(i % 3 === 0 ? requestText('GET /health/live HTTP/1.1', ['Host: a']) : chat(`turn ${i}`))
        .waitFor(i)
    }
    expect(client.answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200))
    client.close()
  })
})

describe('the end of a connection', () => {
  it.each(['close', 'Close', 'TE, close'])('comes when the client asks for it with %s', async (option) => {
    for (const bytes of [
      requestText('GET /health/live HTTP/1.1', ['Host: a', `Connection: ${option}`]),
      requestText('GET /nothing HTTP/1.1', ['Host: a', `Connection: ${option}`]),
      chat('last', [`Connection: ${option}`]),
      chat('last', [`Connection: ${option}`], { stream: true }),
      chat('[[sim {"tokens":100000}]]', [`Connection: ${option}`]),
    ]) {
      const client = await WireClient.connect(gateway.port)
      const answers = await client.send(bytes).waitForClose()
      expect(answers).toHaveLength(1)
      // A client that said so itself need not be told.
      expect(answers[0]?.headers.get('connection') ?? ['close']).toEqual(['close'])
    }
  })

  it.each(['/health/live', '/nothing', '/v1/models'])('comes behind HEAD %s too, its length told', async (path) => {
    const client = await WireClient.connect(gateway.port, { head: true })
    const head = requestText(`HEAD ${path} HTTP/1.1`, ['Host: a', 'Connection: close'])
    const answers = await client.send(head).waitForClose()
    expect(answers).toHaveLength(1)
    expect(Number(answers[0]?.headers.get('content-length')?.[0])).toBeGreaterThan(0)
    expect(client.text.endsWith('\r\n\r\n')).toBe(true)
  })

  it('comes behind the whole stream of a chunked request, and nothing behind that is served', async () => {
    const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'streamed' }], stream: true })
    const key = `Authorization: Bearer ${gateway.apiKey}`
    const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
    const client = await WireClient.connect(gateway.port)
    client.send(
      requestText('POST /v1/chat/completions HTTP/1.1', ['Host: a', key, 'Transfer-Encoding: chunked'], chunks),
    )
    await eventually(() => {
      expect(client.text).toContain('[DONE]')
    })
    client.send(chat('smuggled'))
    const answers = await client.waitForClose()
    expect(answers.map(({ status }) => status)).toEqual([200])
    expect(answers[0]?.body.toString().trim()).toMatch(/^data: .*data: \[DONE\]$/s)
    expect(simulator.requests().some((request) => request.body.includes('smuggled'))).toBe(false)
  })

  it.concurrent('comes without a request when none begins or none is whole', async () => {
    const clients = await Promise.all(
      ['', 'GET /health/live HTTP/1.1\r\nHost: a\r\nX: 1'].map(async (bytes) => {
        const client = await WireClient.connect(gateway.port)
        return client.send(bytes)
      }),
    )
    for (const client of clients) expect(await client.waitForClose()).toEqual([])
  })

  it.concurrent('comes to a head that is sent a few bytes at a time', async () => {
    const client = await WireClient.connect(gateway.port)
    client.send('GET /health/live HTTP/1.1\r\nHost: a\r\n')
    const drip = setInterval(() => {
      if (!client.closed) client.send('X: 1\r\n')
    }, 200)
    try {
      const answers = await client.waitForClose(55_000)
      expect(answers.every(({ status }) => status === 431)).toBe(true)
    } finally {
      clearInterval(drip)
      client.close()
    }
  })
})

describe('the bound on heads', () => {
  const withField = (bytes: number): string =>
    requestText('GET /health/live HTTP/1.1', ['Host: a', `X: ${'a'.repeat(bytes)}`])

  it('lets 15 KiB through', async () => {
    const client = await WireClient.connect(gateway.port)
    const [answer] = await client.send(withField(15 * 1_024)).waitFor(1)
    client.close()
    expect(answer?.status).toBe(200)
  })

  it('is 16 KiB: beyond it the request is refused and nothing behind it is served', async () => {
    for (const bytes of [17 * 1_024, 40 * 1_024, 200 * 1_024]) {
      const client = await WireClient.connect(gateway.port)
      const answers = await client.send(withField(bytes) + withField(1)).waitForClose()
      expect(answers.length).toBeLessThanOrEqual(1)
      expect(answers.every(({ status }) => status === 431)).toBe(true)
    }
  })

  it('is a hundred fields', async () => {
    const fields = (count: number): string[] => ['Host: a', ...Array.from({ length: count }, (_, i) => `X-${i}: 1`)]
    const client = await WireClient.connect(gateway.port)
    expect((await client.send(requestText('GET /health/live HTTP/1.1', fields(90))).waitFor(1))[0]?.status).toBe(200)
    const answers = await client.send(requestText('GET /health/live HTTP/1.1', fields(300))).waitForClose()
    expect(answers.slice(1).every(({ status }) => status === 431)).toBe(true)
  })
})

describe('the bound on requests under way', () => {
  it('refuses what is beyond it before it looks at the key, and lets the rest go on', async () => {
    const held = await Promise.all(
      Array.from({ length: MAX_IN_FLIGHT }, async () => {
        const client = await WireClient.connect(gateway.port)
        return client.send(chat('[[sim {"fault":"hang-before-headers"}]]'))
      }),
    )
    await eventually(() => {
      expect(simulator.ledger.totals.inFlight).toBe(MAX_IN_FLIGHT)
    })

    const client = await WireClient.connect(gateway.port)
    for (const bytes of [chat('one more'), chat('one more', ['Authorization: Bearer nonsense'])]) {
      client.forget()
      const [refused] = await client.send(bytes).waitFor(1)
      expect(refused?.status).toBe(503)
      expect(errorOf(refused)).toMatchObject({ type: 'service_unavailable', code: 'GATEWAY_OVERLOADED' })
      expect(Number(refused?.headers.get('retry-after')?.[0])).toBeGreaterThanOrEqual(1)
    }
    for (const path of ['/health', '/health/live', '/health/ready', '/v1/models', '/v1/admin/logs?limit=1']) {
      client.forget()
      const authorization = `Authorization: Bearer ${path.startsWith('/v1/admin') ? await gateway.adminToken() : gateway.apiKey}`
      const [answer] = await client.send(requestText(`GET ${path} HTTP/1.1`, ['Host: a', authorization])).waitFor(1)
      expect(answer?.status, path).toBe(200)
    }
    expect(simulator.ledger.totals.inFlight).toBe(MAX_IN_FLIGHT)

    held[0]?.close()
    await eventually(async () => {
      client.forget()
      const [answer] = await client.send(chat('room again')).waitFor(1)
      expect(answer?.status).toBe(200)
    })
    for (const one of [...held, client]) one.close()
    await eventually(() => {
      expect(simulator.ledger.totals.inFlight).toBe(0)
    })
  })

  it('records what it refused', async () => {
    const rows = await eventually(async () => {
      const found = (await gateway.logRows()).filter(({ error_code: code }) => code === 'GATEWAY_OVERLOADED')
      expect(found).toHaveLength(2)
      return found
    })
    for (const row of rows) expect(row).toMatchObject({ status: 503, attempts: 0, key: null, settlement: 'none' })
  })
})

function chat(content: string, headers: readonly string[] = [], more: Record<string, unknown> = {}): string {
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content }], ...more })
  const own = headers.some((header) => header.startsWith('Authorization'))
  const key = own ? [] : [`Authorization: Bearer ${gateway.apiKey}`]
  const all = ['Host: a', ...key, ...headers, `Content-Length: ${body.length}`]
  return requestText('POST /v1/chat/completions HTTP/1.1', all, body)
}

function errorOf(answer: WireAnswer | undefined): unknown {
  return (JSON.parse(answer?.body.toString() ?? '') as { error: unknown }).error
}
