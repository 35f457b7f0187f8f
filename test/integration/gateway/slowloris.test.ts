import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { chat } from '../../support/ai-calls.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { residentBytes } from '../../support/process-memory.ts'
import { requestText, WireClient } from '../../support/wire-client.ts'

const SLOW = 300
const DRIP_MS = 500
/** What a slow connection may take of a front; both kinds come at the same time. */
const BYTES_EACH = 200 * 1024

let simulator: Simulator
let gateway: TestGateway

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
    config: { server: { body_timeout_ms: 3_000 } },
  })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

it.concurrent.each([
  ['heads', (): string => requestText('GET /health/live HTTP/1.1', ['Host: a', `X: ${'x'.repeat(1_000)}`])],
  [
    'bodies',
    (): string =>
      requestText(
        'POST /v1/chat/completions HTTP/1.1',
        ['Host: a', `Authorization: Bearer ${gateway.apiKey}`, 'Content-Length: 5000'],
        'x'.repeat(4_999),
      ),
  ],
])(
  `cuts ${SLOW} clients off that send %s byte by byte, and serves the others meanwhile`,
  async (what, whole) => {
    const front = gateway.children().find(({ kind }) => kind === 'front')?.pid ?? 0
    const memoryBefore = residentBytes(front)
    const bytes = whole()
    // The head of a slow body comes at once.
    let sent = what === 'bodies' ? bytes.indexOf('\r\n\r\n') + 4 : 10
    const clients = await Promise.all(Array.from({ length: SLOW }, () => WireClient.connect(gateway.port)))
    for (const client of clients) client.send(bytes.slice(0, sent))
    const drip = setInterval(() => {
      for (const client of clients) if (!client.closed) client.send(bytes.charAt(sent))
      sent += 1
    }, DRIP_MS)
    try {
      // Answered while slow ones were still there.
      let served = 0
      await eventually(
        async () => {
          expect((await chat(gateway)).status).toBe(200)
          if (clients.some(({ closed }) => !closed)) served += 1
          expect(clients.filter(({ closed }) => !closed).length).toBe(0)
        },
        { timeoutMs: 70_000, everyMs: 250 },
      )
      expect(served).toBeGreaterThan(0)
      for (const { answers } of clients) {
        expect(answers.length).toBeLessThanOrEqual(1)
        expect(answers.every(({ status }) => status === 408 || status === 431)).toBe(true)
      }
      expect(residentBytes(front) - memoryBefore).toBeLessThan(SLOW * BYTES_EACH)
    } finally {
      clearInterval(drip)
      for (const client of clients) client.close()
    }
  },
  100_000,
)

it('refuses a path beyond the bound on heads, and serves a long one', async () => {
  const get = (length: number): string => requestText(`GET /${'p'.repeat(length)} HTTP/1.1`, ['Host: a'])
  const client = await WireClient.connect(gateway.port)
  const [answer] = await client.send(get(8_000)).waitFor(1)
  expect(answer?.status).toBe(404)
  client.close()
  for (const length of [20_000, 1_000_000]) {
    const refused = await WireClient.connect(gateway.port)
    const answers = await refused.send(get(length)).waitForClose()
    expect(answers.every(({ status }) => status === 431)).toBe(true)
    expect(answers.length).toBeLessThanOrEqual(1)
  }
})
