import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startGateway } from '../../support/gateway.ts'
import type { TestGateway } from '../../support/gateway.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

let simulator: Simulator
let gateway: TestGateway

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await gatewayWith({})
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

describe('a request of a trace', () => {
  it('goes on to the upstream in that trace, as a span of its own', async () => {
    await chat(gateway, { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: 'congo=t61rcWkgMzE' })
    const { traceparent, tracestate } = lastHeaders()
    expect(traceparent).toMatch(new RegExp(`^00-${TRACE}-(?!${SPAN})[0-9a-f]{16}-01$`))
    expect(tracestate).toBe('congo=t61rcWkgMzE')
  })

  it('makes each attempt a span', async () => {
    const before = simulator.requests().length
    simulator.script([{ status: 500 }, {}])
    await chat(gateway, { traceparent: `00-${TRACE}-${SPAN}-01` })
    const spans = simulator
      .requests()
      .slice(before)
      .map(({ headers }) => headers['traceparent'])
    expect(spans).toHaveLength(2)
    expect(new Set(spans).size).toBe(2)
    for (const span of spans) expect(span).toContain(TRACE)
  })

  it('is found in the log by its trace', async () => {
    const traceId = 'ab'.repeat(16)
    const id = await chat(gateway, { traceparent: `00-${traceId}-${SPAN}-00` })
    expect(await gateway.logRow(id)).toMatchObject({ trace_id: traceId })
    expect((await gateway.logRows({ trace_id: traceId })).map((row) => row.id)).toEqual([id])
  })
})

describe('a request of no trace, or of a broken one', () => {
  it('begins one, not sampled, and logs it', async () => {
    const id = await chat(gateway, { traceparent: `ff-${TRACE}-${SPAN}-01`, tracestate: 'a=1' })
    const { traceparent = '', tracestate } = lastHeaders()
    const [, traceId] = /^00-([0-9a-f]{32})-[0-9a-f]{16}-00$/.exec(traceparent) ?? []
    expect(traceId).not.toBe(TRACE)
    expect(tracestate).toBeUndefined()
    expect(await gateway.logRow(id)).toMatchObject({ trace_id: traceId })
  })
})

it('leaves traces alone when they are switched off', async () => {
  const quiet = await gatewayWith({ telemetry: { trace_context: false } })
  try {
    const id = await chat(quiet, { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: 'a=1' })
    expect(lastHeaders()).not.toHaveProperty('traceparent')
    expect(lastHeaders()).not.toHaveProperty('tracestate')
    expect(await quiet.logRow(id)).toMatchObject({ trace_id: null })
  } finally {
    await quiet.stop()
  }
})

describe('Server-Timing', () => {
  it('counts the wait for the upstream as such, streamed or not, and not as overhead', async () => {
    for (const stream of [false, true]) {
      const beganMs = performance.now()
      const answer = await post(gateway, {}, { stream, content: '[[sim {"ttftMs": 400}]]' })
      const tookMs = performance.now() - beganMs
      const timing = timingOf(answer)
      await answer.text()
      expect(Object.keys(timing)).toEqual(['auth', 'limit', 'translate', 'queue', 'upstream', 'overhead'])
      const waited = (timing['upstream'] ?? 0) + (timing['queue'] ?? 0)
      expect(waited, String(stream)).toBeGreaterThan(300)
      // What was waited for is no part of what the gateway did: together they are no more than the client has waited.
      expect(waited + (timing['overhead'] ?? 0), String(stream)).toBeLessThanOrEqual(tookMs)
    }
  })
})

function lastHeaders(): Readonly<Record<string, string | undefined>> {
  return simulator.requests().at(-1)?.headers ?? {}
}

function timingOf(answer: Response): Record<string, number> {
  const entries = (answer.headers.get('server-timing') ?? '').split(', ').map((entry): [string, number] => {
    const [, name = '', duration = ''] = /^([a-z]+);dur=([\d.]+)$/.exec(entry) ?? []
    return [name, Number(duration)]
  })
  return Object.fromEntries(entries)
}

function gatewayWith(config: Record<string, unknown>): Promise<TestGateway> {
  return startGateway({
    upstreams: [
      {
        dialect: 'openai-chat',
        baseUrl: `http://127.0.0.1:${simulator.port}/v1`,
        models: ['m'],
        keys: [{ credential: 'one' }, { credential: 'two' }],
      },
    ],
    config,
  })
}

/** @returns the id of the request */
async function chat(target: TestGateway, headers: Record<string, string>): Promise<string> {
  const answer = await post(target, headers, {})
  await answer.text()
  expect(answer.status).toBe(200)
  return answer.headers.get('x-request-id') ?? ''
}

function post(
  target: TestGateway,
  headers: Record<string, string>,
  { stream = false, content = 'hello' }: { stream?: boolean; content?: string },
): Promise<Response> {
  return fetch(`${target.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${target.apiKey}`, ...headers },
    body: JSON.stringify({ model: 'm', stream, messages: [{ role: 'user', content }] }),
  })
}
