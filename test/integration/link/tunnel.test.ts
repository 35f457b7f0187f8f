import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MAX_MANAGEMENT_BODY_BYTES } from '../../../src/shared/link/messages.ts'
import { GatewayError } from '../../../src/shared/core/errors.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeExchange } from '../../support/fake-exchange.ts'
import { LinkPair, over } from './link-pair.ts'

let link: LinkPair

beforeEach(async () => {
  link = await new LinkPair().start()
})

afterEach(() => link.close())

describe('a management request', () => {
  it('reaches the control process as it is, and its answer comes back', async () => {
    const body = Buffer.from('{"a":1}')
    const exchange = new FakeExchange({ method: 'POST', path: '/api/y', query: 'q=1', headers: { 'x-a': 'ä' } }, body)
    const { refusals } = await link.forward(exchange)
    await over(exchange)
    expect(refusals).toEqual([])
    expect(exchange.response).toMatchObject({ status: 200, headers: [['Content-Type', 'text/plain']], ended: true })
    expect(exchange.response.body.toString()).toBe('hello')
    expect(link.served).toMatchObject([
      {
        requestId: 'req_1',
        method: 'POST',
        path: '/api/y',
        query: 'q=1',
        headers: { 'x-a': 'ä' },
        address: '192.0.2.1',
      },
    ])
    expect(link.served[0]?.body.equals(body)).toBe(true)
    expect(link.front.tunnel.inFlight).toBe(0)
  })

  it('keeps a hundred at a time apart', async () => {
    link.serve = async (request) => ({
      status: 200,
      headers: [],
      body: Buffer.concat([request.body, Buffer.from(request.path)]),
    })
    const exchanges = Array.from(
      { length: 100 },
      (_, i) => new FakeExchange({ method: 'POST', path: `/${i}` }, Buffer.alloc(i * 997, i)),
    )
    await Promise.all(exchanges.map((exchange) => link.forward(exchange)))
    for (const [i, exchange] of exchanges.entries()) {
      await over(exchange)
      const expected = Buffer.concat([Buffer.alloc(i * 997, i), Buffer.from(`/${i}`)])
      expect(exchange.response.body.equals(expected), `request ${i}`).toBe(true)
    }
  })

  it('carries a body larger than the credit, whole', async () => {
    const body = patterned(3 * 1024 * 1024 + 17)
    link.serve = async (request) => ({ status: 201, headers: [], body: request.body })
    const exchange = new FakeExchange({ method: 'PUT' }, body)
    await link.forward(exchange)
    await over(exchange)
    expect(link.served[0]?.body.equals(body)).toBe(true)
    expect(exchange.response.body.equals(body)).toBe(true)
  })

  it('is refused when its body is larger than the control process takes', async () => {
    const exchange = new FakeExchange({ method: 'PUT' }, Buffer.alloc(MAX_MANAGEMENT_BODY_BYTES + 1))
    const { refusals } = await link.forward(exchange)
    expect(refusals.map(({ code }) => code)).toEqual(['BODY_TOO_LARGE'])
    expect(link.served).toEqual([])
    expect(link.front.tunnel.inFlight).toBe(0)
  })

  it('is refused as its body was', async () => {
    const exchange = new FakeExchange({ method: 'POST' }, new GatewayError('BODY_TOO_LARGE'))
    const { refusals } = await link.forward(exchange)
    expect(refusals.map(({ code }) => code)).toEqual(['BODY_TOO_LARGE'])
    expect(link.front.tunnel.inFlight).toBe(0)
  })

  it('is refused beyond 256 at a time', async () => {
    link.serve = () => new Promise(() => undefined)
    const waiting = Array.from({ length: 256 }, () => new FakeExchange())
    for (const exchange of waiting) await link.forward(exchange)
    const { refusals } = await link.forward(new FakeExchange())
    expect(refusals).toMatchObject([{ code: 'CONCURRENCY_EXCEEDED', status: 429, retryAfterSeconds: 1 }])
    waiting[0]?.response.leave()
    expect((await link.forward(new FakeExchange())).refusals).toEqual([])
  })

  it('is refused when the control process fails at it, and tells it', async () => {
    link.serve = () => Promise.reject(new Error('broken'))
    const { refusals } = await link.forward(new FakeExchange())
    await eventually(() => {
      expect(refusals).toMatchObject([{ code: 'CONTROL_UNAVAILABLE' }])
    })
    expect(link.faults).toMatchObject([{ message: 'broken' }])
  })

  it('is given up after a minute of silence', async () => {
    link.serve = () => new Promise(() => undefined)
    const { refusals } = await link.forward(new FakeExchange())
    await eventually(() => {
      expect(link.served).toHaveLength(1)
    })
    link.pass(59_000)
    expect(refusals).toEqual([])
    link.pass(2_000)
    expect(refusals).toMatchObject([{ code: 'CONTROL_UNAVAILABLE' }])
    await eventually(() => {
      expect(link.served[0]?.signal.aborted).toBe(true)
    })
  })
})

describe.each([
  ['POST /mcp/tools/{name}', { method: 'POST', path: '/mcp/tools/search__find' }],
  ['tools/call without a session', { method: 'POST', path: '/mcp', headers: { 'mcp-method': 'tools/call' } }],
] as const)('a call of a tool by %s', (_, request) => {
  it('may last as long as a tool may take, and is not given up for its silence', async () => {
    let answer: () => void = () => undefined
    link.serve = () =>
      new Promise((resolve) => {
        answer = () => {
          resolve({ status: 200, headers: [], body: Buffer.from('result') })
        }
      })
    const exchange = new FakeExchange(request)
    const { refusals } = await link.forward(exchange)
    await eventually(() => {
      expect(link.served).toHaveLength(1)
    })
    link.pass(61_000)
    link.pass(3_600_000)
    expect(refusals).toEqual([])
    answer()
    await over(exchange)
    expect(exchange.response.body.toString()).toBe('result')
  })

  it('leaves the places of other requests free, and is given up in the end', async () => {
    link.serve = () => new Promise(() => undefined)
    const calls = await Promise.all(Array.from({ length: 256 }, () => link.forward(new FakeExchange(request))))
    expect((await link.forward(new FakeExchange())).refusals).toEqual([])
    link.pass(4_201_000)
    expect(calls.flatMap(({ refusals }) => refusals.map(({ code }) => code))).toEqual(
      Array.from({ length: 256 }, () => 'CONTROL_UNAVAILABLE'),
    )
    expect(link.front.tunnel.inFlight).toBe(0)
  })
})

function patterned(length: number): Buffer {
  const bytes = Buffer.alloc(length)
  for (let i = 0; i < length; i++) bytes[i] = (i * 31 + (i >> 16)) & 255
  return bytes
}
