import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { descriptorLimit, maxConnections } from '../../../src/shared/runtime/descriptors.ts'
import { eventsOf } from '../../support/ai-calls.ts'
import { endWithThisProcess } from '../../../src/cli/bench/end-with-this-process.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { residentBytes } from '../../support/process-memory.ts'
import { WireClient, requestText } from '../../support/wire-client.ts'

const THREADS = 1
/** Each takes two descriptors of the front: 10 000 need a `ulimit -n` of 20 200. */
const STREAMS = Math.min(10_000, maxConnections(descriptorLimit(), THREADS))
/** Streams that have no first byte yet. */
const OPENING = 32
const TEXTS = ['one', 'two', 'three', 'four', 'five']
const LAST_CHUNK = '\r\n0\r\n\r\n'
const MAX_P99_MS = 1_000
const PATIENCE_MS = 120_000

let upstream: ChildProcess
let gateway: TestGateway
const clients: WireClient[] = []

beforeAll(async () => {
  upstream = fork(fileURLToPath(new URL('../../support/held-streams.mjs', import.meta.url)), { execArgv: [] })
  endWithThisProcess(upstream, 'KILL')
  const [{ port }] = (await once(upstream, 'message')) as [{ port: number }]
  gateway = await startGateway({
    upstreams: [
      {
        dialect: 'openai-chat',
        baseUrl: `http://127.0.0.1:${port}/v1`,
        models: ['m'],
        keys: [{ credential: 'upstream-credential', max_concurrency: 100_000 }],
        more: { timeouts: { idle_ms: 600_000 } },
      },
    ],
    config: {
      workers: { threads: THREADS },
      limits: { max_requests_in_flight: 50_000, key_defaults: { concurrency: 50_000 } },
    },
  })
}, 120_000)

afterAll(async () => {
  for (const client of clients) client.close()
  upstream.disconnect()
  await gateway.stop()
})

/** Asks the upstream; resolves with the number of requests that it has had. */
async function tell(message: { texts?: readonly string[]; end?: true }): Promise<number> {
  const answered = once(upstream, 'message')
  upstream.send(message)
  const [{ requests }] = (await answered) as [{ requests: number }]
  return requests
}

function request(): string {
  const body = JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'Hi' }] })
  return requestText(
    'POST /v1/chat/completions HTTP/1.1',
    [
      'Host: a',
      `Authorization: Bearer ${gateway.apiKey}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
    ],
    body,
  )
}

function frontBytes(): number {
  return residentBytes(gateway.children().find(({ kind }) => kind === 'front')?.pid ?? 0)
}

it('keeps 10 000 streams open on one front: each begins at once, none loses an event, and the memory comes back', async () => {
  const bytesBefore = frontBytes()
  const firstBytesMs: number[] = []
  const bytes = request()
  let asked = 0
  const openInTurn = async (): Promise<void> => {
    while (asked < STREAMS) {
      asked += 1
      const startMs = performance.now()
      const client = await WireClient.connect(gateway.port)
      clients.push(client)
      const firstByte = once(client.socket, 'data', { signal: AbortSignal.timeout(PATIENCE_MS) })
      client.send(bytes)
      await firstByte
      firstBytesMs.push(performance.now() - startMs)
    }
  }
  const startMs = performance.now()
  await Promise.all(Array.from({ length: OPENING }, openInTurn))
  const seconds = (performance.now() - startMs) / 1000
  firstBytesMs.sort((a, b) => a - b)
  const p99Ms = firstBytesMs[Math.floor(STREAMS * 0.99)] ?? Infinity
  console.log(
    `${STREAMS} streams opened in ${seconds.toFixed(1)} s (${OPENING} at a time): ` +
      `first byte p50 ${firstBytesMs[STREAMS >> 1]?.toFixed(0)} ms, p99 ${p99Ms.toFixed(0)} ms, ` +
      `max ${firstBytesMs.at(-1)?.toFixed(0)} ms`,
  )
  expect(clients.filter(({ closed }) => closed)).toHaveLength(0)
  const bytesOpen = frontBytes()

  const requests = await tell({ texts: TEXTS })
  await tell({ end: true })
  expect(requests).toBe(STREAMS)
  await eventually(
    () => {
      expect(clients.filter(({ text }) => !text.endsWith(LAST_CHUNK))).toHaveLength(0)
    },
    { timeoutMs: PATIENCE_MS, everyMs: 250 },
  )
  const lost = clients.filter((client) => !isWhole(client))
  expect(lost).toHaveLength(0)
  expect(p99Ms).toBeLessThanOrEqual(MAX_P99_MS)

  for (const client of clients) client.close()
  await eventually(
    () => {
      expect(frontBytes() - bytesBefore).toBeLessThan((bytesOpen - bytesBefore) / 2)
    },
    { timeoutMs: PATIENCE_MS, everyMs: 1_000 },
  )
}, 600_000)

function isWhole(client: WireClient): boolean {
  const [answer] = client.answers
  if (answer?.status !== 200) return false
  const events = eventsOf(answer.body.toString()).map(({ data }) => data)
  const texts = events.map((data) => /"content":"(\w+)"/.exec(data)?.[1]).filter((text) => text !== undefined)
  return texts.join() === ['first', ...TEXTS].join() && events.at(-1) === '[DONE]'
}
