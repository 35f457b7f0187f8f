import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import type { WireAnswer } from '../../support/wire-client.ts'
import { WireClient, requestText } from '../../support/wire-client.ts'

let simulator: Simulator
let gateway: TestGateway

const PAGE = 'https://console.example.com'

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
    config: { server: { cors_origins: [PAGE] } },
  })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

describe('paths and methods', () => {
  it.each(['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'BREW'])(
    'answers %s at a path that does not exist with our 404',
    async (method) => {
      const answer = await exchange(method, '/v1/nothing')
      expect(answer.status).toBe(404)
      expect(errorOf(answer)).toMatchObject({ type: 'invalid_request', code: 'ROUTE_NOT_FOUND', param: null })
      expect(errorOf(answer)['request_id']).toBe(answer.headers.get('x-request-id')?.[0])
    },
  )

  it.each(['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'BREW', 'post', 'Post'])(
    'answers %s at the chat path with our 405',
    async (method) => {
      const answer = await exchange(method, '/v1/chat/completions')
      expect(answer.status).toBe(405)
      expect(errorOf(answer)).toMatchObject({ type: 'invalid_request', code: 'METHOD_NOT_ALLOWED' })
      expect(errorOf(answer)['message']).toContain('POST')
    },
  )

  it.each(['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'BREW'])(
    'answers %s at a path of management with our 405, and the methods that it takes',
    async (method) => {
      const answer = await exchange(method, '/v1/admin/users')
      expect(answer.status).toBe(405)
      expect(errorOf(answer)).toMatchObject({ type: 'invalid_request', code: 'METHOD_NOT_ALLOWED' })
      expect(answer.headers.get('allow')).toEqual(['GET, POST'])
    },
  )

  it.each(['GET', 'OPTIONS'])(
    'answers %s at a path that another with a parameter would match with the methods of this path',
    async (method) => {
      const answer = await exchange(method, '/api/logs/bodies')
      expect(answer.status).toBe(405)
      expect(answer.headers.get('allow')).toEqual(['DELETE'])
    },
  )

  it('names no server, whatever was asked', async () => {
    for (const [method, path] of [
      ['GET', '/'],
      ['GET', '/health'],
      ['GET', '/nothing'],
      ['PUT', '/v1/messages'],
      ['POST', '/v1/chat/completions'],
      ['POST', '/api/auth/login'],
    ] as const) {
      const client = await WireClient.connect(gateway.port)
      client.send(request(method, path))
      await client.waitFor(1)
      client.close()
      expect(client.text.toLowerCase(), `${method} ${path}`).not.toMatch(/uwebsockets|^server:|x-powered-by/m)
    }
  })

  it('gives errors at the messages path in the shape of that dialect', async () => {
    const answer = await exchange('GET', '/v1/messages')
    expect(answer.status).toBe(405)
    expect(JSON.parse(answer.body.toString())).toMatchObject({ type: 'error', error: { type: 'invalid_request' } })
  })

  it.each(['/health/live', '/nothing', '/v1/models', '/health'])(
    'answers HEAD %s with the length of the GET and without its body',
    async (path) => {
      const client = await WireClient.connect(gateway.port, { head: true })
      // A body would be read as the head of the second answer.
      const head = `HEAD ${path} HTTP/1.1`
      await client.send(requestText(head, ['Host: a', key()])).waitFor(1)
      const [first, second] = await client.send(requestText(head, ['Host: a', key()])).waitFor(2)
      client.close()
      const { status, body } = await exchange('GET', path)
      expect([first?.status, second?.status]).toEqual([status, status])
      expect(Number(first?.headers.get('content-length')?.[0])).toBeGreaterThan(0)
      if (path === '/health/live' || path === '/v1/models') {
        expect(Number(first?.headers.get('content-length')?.[0])).toBe(body.length)
      }
    },
  )
})

describe('CORS', () => {
  const preflight = (origin: string): string[] => [
    `Origin: ${origin}`,
    'Access-Control-Request-Method: POST',
    'Access-Control-Request-Headers: authorization, content-type',
  ]

  it('lets the configured page ask, without a key', async () => {
    const answer = await exchange('OPTIONS', '/v1/chat/completions', preflight(PAGE))
    expect(answer.status).toBe(200)
    expect(answer.body).toHaveLength(0)
    expect(answer.headers.get('access-control-allow-origin')).toEqual([PAGE])
    expect(answer.headers.get('access-control-allow-methods')?.[0]).toContain('POST')
    expect(answer.headers.get('access-control-allow-headers')).toEqual(['authorization, content-type'])
    expect(answer.headers.get('vary')).toEqual(['Origin'])
    expect(answer.headers.get('access-control-allow-credentials')).toBeUndefined()
  })

  it('lets the configured page read answers, refusals included', async () => {
    for (const path of ['/v1/models', '/nothing', '/health']) {
      const answer = await exchange('GET', path, [`Origin: ${PAGE}`])
      expect(answer.headers.get('access-control-allow-origin'), path).toEqual([PAGE])
      expect(answer.headers.get('access-control-expose-headers')?.[0]).toContain('X-Request-Id')
      expect(answer.headers.get('vary')).toEqual(['Origin'])
    }
  })

  it.each(['https://evil.example', 'http://console.example.com', 'https://console.example.com.evil.example', 'null'])(
    'tells %s nothing',
    async (origin) => {
      for (const method of ['GET', 'OPTIONS']) {
        const answer = await exchange(method, '/v1/models', preflight(origin))
        expect(answer.headers.get('access-control-allow-origin')).toBeUndefined()
        expect(answer.headers.get('vary')).toEqual(['Origin'])
      }
      expect((await exchange('OPTIONS', '/v1/models', preflight(origin))).status).toBe(405)
    },
  )

  it('does not let a control byte of a preflight into the answer', async () => {
    const client = await WireClient.connect(gateway.port)
    const headers = ['Host: a', `Origin: ${PAGE}`, 'Access-Control-Request-Method: POST']
    client.send(
      requestText('OPTIONS /v1/models HTTP/1.1', [...headers, 'Access-Control-Request-Headers: a\rX-Evil: 1']),
    )
    client.send('\r\n\r\n')
    // To the server this is a head that has not ended: it cuts the connection by its own timer.
    await client.waitForClose()
    expect(client.text.toLowerCase()).not.toContain('x-evil')
  })
})

describe('headers of an upstream', () => {
  it('cannot split an answer, and those that are not for clients stay away', async () => {
    const sim = {
      headers: {
        'openai-version': '2020\x01\t10\x7f-01',
        'openai-processing-ms': '5',
        'set-cookie': 'upstream=1',
        server: 'upstream-server',
        'x-internal-host': 'upstream-7',
      },
    }
    const body = JSON.stringify({
      model: 'm',
      messages: [{ role: 'user', content: `hi [[sim ${JSON.stringify(sim)}]]` }],
    })
    const client = await WireClient.connect(gateway.port)
    client.send(request('POST', '/v1/chat/completions', [], body))
    const [answer] = await client.waitFor(1)
    client.close()
    // eslint-disable-next-line no-control-regex -- what must not be there
    expect(client.text).not.toMatch(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/)
    expect(client.text).not.toMatch(/set-cookie|upstream-server|upstream-7/)
    expect([200, 503]).toContain(answer?.status)
    if (answer?.status === 200) expect(answer.headers.get('openai-version')).toEqual(['2020\t10-01'])
  })
})

function key(): string {
  return `Authorization: Bearer ${gateway.apiKey}`
}

function request(method: string, path: string, headers: readonly string[] = [], body = '{}'): string {
  const length = ['POST', 'PUT', 'PATCH'].includes(method) ? [`Content-Length: ${body.length}`] : []
  const all = ['Host: a', key(), 'Content-Type: application/json', ...headers, ...length]
  return requestText(`${method} ${path} HTTP/1.1`, all, length.length === 0 ? '' : body)
}

async function exchange(method: string, path: string, headers: readonly string[] = []): Promise<WireAnswer> {
  const client = await WireClient.connect(gateway.port)
  client.send(request(method, path, headers))
  const [answer] = await client.waitFor(1)
  client.close()
  if (answer === undefined) throw new Error('no answer')
  return answer
}

function errorOf(answer: WireAnswer): Record<string, unknown> {
  return (JSON.parse(answer.body.toString()) as { error: Record<string, unknown> }).error
}
