import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { requestText, WireClient } from '../../support/wire-client.ts'

let simulator: Simulator
let gateway: TestGateway

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

const GET = requestText('GET /health/live HTTP/1.1', ['Host: a'])

function chat(mark: string, members: object = {}, behaviour: object = {}): string {
  const content = `${mark} [[sim ${JSON.stringify(behaviour)}]]`
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content }], user: mark, ...members })
  const headers = [
    'Host: a',
    `Authorization: Bearer ${gateway.apiKey}`,
    `X-Client-Request-Id: ${mark}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]
  return requestText('POST /v1/chat/completions HTTP/1.1', headers, body)
}

/** Sends this, and FIN behind it; waits for the other side's. */
async function sendAndFinish(bytes: string): Promise<WireClient> {
  const client = await WireClient.connect(gateway.port)
  client.socket.end(Buffer.from(bytes, 'latin1'))
  await client.waitForClose()
  return client
}

describe('a client that sends FIN', () => {
  it('behind a request that needs no waiting, gets its answer or a clean end', async () => {
    for (let round = 0; round < 20; round++) {
      const { answers, text } = await sendAndFinish(GET)
      if (text !== '') expect(answers.map(({ status }) => status)).toEqual([200])
    }
  })

  it.each([
    ['a whole answer', { stream: false }],
    ['a stream', { stream: true }],
  ])('behind a request for %s, has left: nothing is cut in half, its upstream is stopped', async (_name, members) => {
    const mark = `half-${members.stream}`
    const { answers, text } = await sendAndFinish(
      chat(mark, members, { ttftMs: 1_000, tokens: 50, eventsPerSecond: 50 }),
    )
    if (text !== '') expect(answers).toHaveLength(1)
    await eventually(() => {
      expect(simulator.stats().inFlight).toBe(0)
    })
    const row = await eventually(async () => {
      const found = (await gateway.logRows()).find((one) => one.client_request_id === mark)
      if (found === undefined) throw new Error('no row')
      return found
    })
    expect(row).toMatchObject(text === '' ? { status: 499, aborted: true } : { status: 200 })
  })

  it.each([
    ['within the head', (): string => GET.slice(0, 25)],
    ['within the body', (): string => chat('cut').slice(0, -5)],
    ['before anything', (): string => ''],
  ])('%s, gets a clean end, and no upstream hears of it', async (_name, bytes) => {
    const before = simulator.stats().started
    const { answers } = await sendAndFinish(bytes())
    expect(answers.every(({ status }) => status >= 400)).toBe(true)
    expect(simulator.stats().started).toBe(before)
  })
})
