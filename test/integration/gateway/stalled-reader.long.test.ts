import { afterAll, beforeAll, expect, it } from 'vitest'
import type { RequestRecord } from '../../../src/simulator/ledger.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { call } from '../../support/ai-calls.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { largestSocketBuffers, residentBytes } from '../../support/process-memory.ts'
import { BrokenOffError, RawClient, inLanes } from '../../support/raw-client.ts'
import type { RawPost } from '../../support/raw-client.ts'
import { serverPatience } from '../../support/server-patience.ts'
import { steeredRequest } from '../../support/steered-request.ts'

const STALLED = 200
const WARM_LANES = 8
const SAMPLED_EVERY_MS = 100
const MOST_BYTES_PER_STREAM = 256 * 1024
/** Nobody could ever read all of it. */
const ENDLESS_TOKENS = 100_000_000

let simulator: Simulator
let gateway: TestGateway
let front = 0

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({
    upstreams: [
      {
        dialect: 'openai-chat',
        baseUrl: `${simulator.origin}/v1`,
        models: ['m'],
        keys: [{ credential: 'a', max_concurrency: 10_000 }],
      },
    ],
  })
  front = gateway.children().find(({ kind }) => kind === 'front')?.pid ?? 0
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

it('costs 256 KiB at most, holds the upstream back, and is cut', { timeout: 300_000 }, async () => {
  const before = await mostWhile(warmUp)
  const watch = watchUpstream()
  const stalled: Stalled[] = [await stall('stalled-first')]
  // The server's own timer is shorter: it cuts one who began to wait as the first reader did.
  const patience = serverPatience(gateway.port).then(() => watch.cut().length)
  await inLanes(
    Array.from({ length: STALLED - 1 }, (_, n) => n),
    20,
    async (n) => {
      stalled.push(await stall(`stalled-${n}`))
    },
  )

  // Until the last of them is gone the memory is looked at again and again.
  await eventually(
    () => {
      expect(watch.cut().length).toBe(STALLED)
    },
    { timeoutMs: 120_000, everyMs: 200 },
  )
  watch.stop()
  expect(await patience).toBe(0)

  const cut = watch.cut()
  const costs = watch.samples.filter(({ streams }) => streams >= STALLED / 2)
  const perStream = costs.map(({ bytes, streams }) => (bytes - before) / streams)
  const most = Math.max(...perStream)
  const bytesOut = cut.map((record) => record.bytesOut)
  console.log(
    `stalled readers: ${STALLED} streams, front ${kib(before)} KiB before, at most ${kib(most)} KiB more per stream ` +
      `(${costs.length} samples); upstream wrote ${kib(Math.min(...bytesOut))} to ${kib(Math.max(...bytesOut))} KiB per ` +
      `stream (the kernel may keep ${kib(2 * largestSocketBuffers())})`,
  )
  expect(costs.length).toBeGreaterThan(10)
  expect(most).toBeLessThanOrEqual(MOST_BYTES_PER_STREAM)
  // Two hops, each with a sender's and a receiver's buffer, and what two processes hold in their hands.
  expect(Math.max(...bytesOut)).toBeLessThanOrEqual(2 * largestSocketBuffers() + 1024 * 1024)

  await expectBrokenOff(stalled)
  await expectRows(stalled)
})

it('is forgotten afterwards: the next request is served, no slot is left', async () => {
  const client = await RawClient.connect(gateway.port)
  const answer = await client.post(requestOf('short', 5))
  client.close()
  expect(answer.status).toBe(200)
  expect(answer.body.toString()).toMatch(/data: \[DONE\]\n\n$/)
  expect(simulator.ledger.totals.inFlight).toBe(0)
})

interface Stalled {
  readonly user: string
  readonly client: RawClient
  readonly answer: Promise<unknown>
}

/** Reads the first bytes of an endless answer, then nothing more. */
async function stall(user: string): Promise<Stalled> {
  const client = await RawClient.connect(gateway.port, { readBytes: 1024 })
  const begun = new Promise<void>((resolve) => {
    client.onRead(() => {
      if (client.bodyBytes === 0) return
      client.pause()
      resolve()
    })
  })
  const answer = client.post(requestOf(user, ENDLESS_TOKENS), () => undefined).catch((cause: unknown) => cause)
  await begun
  return { user, client, answer }
}

/** The most memory that the front has had meanwhile: peaks are compared, for one moment may be just after a collection. */
async function mostWhile(run: () => Promise<void>): Promise<number> {
  let most = 0
  const timer = setInterval(() => {
    most = Math.max(most, residentBytes(front))
  }, SAMPLED_EVERY_MS)
  await run().finally(() => {
    clearInterval(timer)
  })
  return Math.max(most, residentBytes(front))
}

/** As many bytes as the kernel will take for the stalled, but few streams at a time: what remains in memory is not theirs. */
async function warmUp(): Promise<void> {
  await inLanes(
    Array.from({ length: 200 }, (_, n) => n),
    WARM_LANES,
    async (n) => {
      const client = await RawClient.connect(gateway.port)
      await client.post(requestOf(`warm-${n}`, 20_000), () => undefined)
      client.close()
    },
  )
  // Usage of a stream that was left is counted by a worker, which keeps its tokenizer; this answer waits until it has one.
  const path = '/v1/messages/count_tokens'
  const counted = await call(gateway, { path, body: { model: 'm', messages: [{ role: 'user', content: 'Hello' }] } })
  expect(counted.status).toBe(200)
}

/** Looks at the front's memory, and at how many streams have been open at once. */
function watchUpstream(): {
  samples: Array<{ bytes: number; streams: number }>
  cut(): RequestRecord[]
  stop(): void
} {
  let streams = 0
  const watch = {
    samples: [] as Array<{ bytes: number; streams: number }>,
    cut: () => simulator.ledger.records().filter(({ user }) => user?.startsWith('stalled') === true),
    stop: () => {
      clearInterval(timer)
    },
  }
  const timer = setInterval(() => {
    const { inFlight } = simulator.ledger.totals
    streams = Math.max(streams, inFlight)
    // Once one is cut, workers count what the cut have used: that is not what a stalled stream costs.
    if (inFlight === streams) watch.samples.push({ bytes: residentBytes(front), streams })
  }, SAMPLED_EVERY_MS)
  return watch
}

/** Whoever reads on finds the rest of what the kernel kept, and then the end of the connection instead of the answer's. */
async function expectBrokenOff(stalled: readonly Stalled[]): Promise<void> {
  for (const { client, answer } of stalled) {
    client.onRead(() => undefined)
    client.resume()
    expect(await answer).toBeInstanceOf(BrokenOffError)
  }
}

async function expectRows(stalled: readonly Stalled[]): Promise<void> {
  await eventually(
    async () => {
      const rows = new Map((await gateway.logRows()).map((row) => [row.id, row]))
      for (const { client } of stalled) {
        const row = rows.get(client.head?.headers.get('x-request-id') ?? '')
        expect(row).toMatchObject({ status: 200, aborted: true, stream: true, settlement: 'observed', attempts: 1 })
        expect(row?.completion_tokens).toBeGreaterThan(0)
      }
    },
    { timeoutMs: 60_000, everyMs: 500 },
  )
}

function requestOf(user: string, tokens: number): RawPost {
  const { apiKey } = gateway
  return steeredRequest({ apiKey, dialect: 'openai-chat', model: 'm', user, stream: true, behaviour: { tokens } })
}

function kib(bytes: number): number {
  return Math.round(bytes / 1024)
}
