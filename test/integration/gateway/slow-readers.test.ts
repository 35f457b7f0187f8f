import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { RecordedAnswer } from '../../../src/simulator/recorded.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { eventually } from '../../support/eventually.ts'
import { ExpectedBytes } from '../../support/expected-bytes.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { RawClient, inLanes } from '../../support/raw-client.ts'
import type { RawAnswer } from '../../support/raw-client.ts'
import { SeededRandom } from '../../support/seeded-random.ts'
import {
  LONG_PROMPT_TOKENS,
  LongStreamCheck,
  WOVEN_USAGE,
  longText,
  longTextTokens,
  plainBody,
  plainStream,
  wovenAnswer,
} from '../../support/slow-streams.ts'

const SEED = 20_260_502
const STREAMS = 1_000
const LANES = 100
/** One stream in so many is longer than what the kernel takes for a reader that does not read. */
const LONG_EVERY = 10
const LONG_CREDENTIAL = 'long'

/** When a reader stops reading, and for how long. */
interface Schedule {
  readonly readBytes: number
  readonly firstPauseAtBytes: number
  readonly firstPauseMs: number
  readonly bytesBetweenPauses: () => number
  readonly pauseMs: () => number
}

interface Read {
  readonly kind: 'long' | 'woven'
  readonly answer: RawAnswer
  readonly bodyBytes: number
}

let simulator: Simulator
let gateway: TestGateway
const text = longText(SEED)
const tokens = longTextTokens(text)
const reads: Read[] = []
const ids = new Set<string>()
let pauses = 0
let heldBack = 0

beforeAll(async () => {
  simulator = await startSimulator()
  simulator.configureKey(LONG_CREDENTIAL, { text, promptTokens: LONG_PROMPT_TOKENS })
  gateway = await startGateway({
    upstreams: [
      { dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['woven'] },
      {
        dialect: 'openai-chat',
        baseUrl: `${simulator.origin}/v1`,
        models: ['long'],
        keys: [{ credential: LONG_CREDENTIAL }],
      },
    ],
  })
  console.log(`slow readers: seed ${SEED}`)
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

it('gives 1 000 slow readers every byte, and well-formed chunks', { timeout: 600_000 }, async () => {
  await inLanes(
    Array.from({ length: STREAMS }, (_, n) => n),
    LANES,
    async (n, lane) => {
      reads.push(n % LONG_EVERY === 0 ? await readLong(n) : await readWoven(n, lane))
    },
  )

  const bytes = reads.reduce((sum, read) => sum + read.bodyBytes, 0)
  const chunks = reads.reduce((sum, read) => sum + read.answer.chunks, 0)
  console.log(`slow readers: ${bytes} bytes in ${chunks} chunks, ${pauses} pauses, ${heldBack} upstreams held back`)
  expect(reads.length).toBe(STREAMS)
  expect(reads.every(({ answer }) => answer.status === 200)).toBe(true)
  expect(ids.size).toBe(STREAMS / LONG_EVERY)
  // Otherwise nobody was slow enough for the gateway to notice.
  expect(heldBack).toBeGreaterThan(STREAMS / LONG_EVERY / 2)
})

it('records them as whole', { timeout: 60_000 }, async () => {
  await eventually(
    async () => {
      const rows = new Map((await gateway.logRows()).map((row) => [row.id, row]))
      for (const { kind, answer } of reads) {
        const usage =
          kind === 'woven' ? WOVEN_USAGE : { prompt_tokens: LONG_PROMPT_TOKENS, completion_tokens: tokens.length }
        const wanted = { status: 200, settlement: 'exact', aborted: false, error_code: null, ...usage }
        expect(rows.get(answer.requestId)).toMatchObject(wanted)
      }
      expect(rows.size).toBe(STREAMS)
    },
    { timeoutMs: 50_000, everyMs: 500 },
  )
})

it('waits 12 s for readers that have stopped, wherever the answer had got to', { timeout: 180_000 }, async () => {
  // Around what the kernel takes: with some of them the answer's end waits in the gateway, with others all of its middle.
  const sizes = Array.from({ length: 48 }, (_, n) => 2_500_000 + n * 100_000)
  const buffered = [3_000_000, 6_000_000, 12_000_000]
  await inLanes([...sizes, ...buffered], sizes.length + buffered.length, async (size, n) => {
    const stream = n < sizes.length
    const answer: RecordedAnswer = {
      id: `stopped-${n}`,
      status: 200,
      headers: { 'content-type': stream ? 'text/event-stream' : 'application/json' },
      body: stream ? plainStream(size) : plainBody(size),
      splits: null,
    }
    simulator.record(answer)
    const client = await RawClient.connect(gateway.port, { readBytes: 1_024 })
    let stopped = false
    client.onRead(() => {
      if (stopped || client.bodyBytes === 0) return
      stopped = true
      client.pause()
      void pause(12_000).then(() => {
        client.resume()
      })
    })
    const body = requestOf('woven', `[[sim {"recorded":"stopped-${n}"}]]`, `stopped-${n}`, stream)
    const { body: got } = await client.post({ path: '/v1/chat/completions', headers: headers(), body })
    client.close()
    expect(got.equals(answer.body), `${size} bytes`).toBe(true)
  })
})

/** About 10 MB: the reader's first pause is long enough for the upstream to run into it. */
async function readLong(n: number): Promise<Read> {
  const random = new SeededRandom(SEED + n)
  const check = new LongStreamCheck(tokens, 'long')
  const schedule: Schedule = {
    readBytes: random.pick([4_096, 16_384, 65_536]),
    firstPauseAtBytes: random.between(1, 300_000),
    firstPauseMs: random.between(1_000, 3_000),
    bytesBetweenPauses: () => random.between(200_000, 900_000),
    pauseMs: () => random.between(20, 250),
  }
  const user = `slow-${n}`
  const read = await readSlowly('long', schedule, requestOf('long', 'go', user), check, () => {
    if (!simulator.ledger.records().some((record) => record.user === user)) heldBack++
  })
  if (check.id !== null) ids.add(check.id)
  return read
}

async function readWoven(n: number, lane: number): Promise<Read> {
  const random = new SeededRandom(SEED + n)
  const answer = wovenAnswer(`woven-${lane}`, SEED + n)
  simulator.record(answer)
  let whole: Buffer | null = answer.body
  const check = new ExpectedBytes(() => {
    const next = whole
    whole = null
    return next
  })
  const schedule: Schedule = {
    readBytes: random.pick([256, 1_024, 4_096, 16_384]),
    firstPauseAtBytes: random.between(1, 50_000),
    firstPauseMs: random.between(50, 500),
    bytesBetweenPauses: () => random.between(20_000, 200_000),
    pauseMs: () => random.between(5, 200),
  }
  return readSlowly('woven', schedule, requestOf('woven', `[[sim {"recorded":"woven-${lane}"}]]`, `slow-${n}`), check)
}

async function readSlowly(
  kind: Read['kind'],
  schedule: Schedule,
  body: string,
  check: { take(bytes: Buffer): void; end(): void },
  onFirstPauseOver?: () => void,
): Promise<Read> {
  const client = await RawClient.connect(gateway.port, { readBytes: schedule.readBytes })
  let pauseAt = schedule.firstPauseAtBytes
  let paused = 0
  client.onRead(() => {
    if (client.bodyBytes < pauseAt) return
    pauseAt = client.bodyBytes + schedule.bytesBetweenPauses()
    const isFirst = paused++ === 0
    client.pause()
    void pause(isFirst ? schedule.firstPauseMs : schedule.pauseMs()).then(() => {
      if (isFirst) onFirstPauseOver?.()
      client.resume()
    })
  })
  const answer = await client.post({ path: '/v1/chat/completions', headers: headers(), body }, (piece) => {
    check.take(piece)
  })
  check.end()
  const { bodyBytes } = client
  client.close()
  pauses += paused
  return { kind, answer, bodyBytes }
}

function headers(): Record<string, string> {
  return { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' }
}

function requestOf(model: string, content: string, user: string, stream = true): string {
  const stream_options = stream ? { include_usage: true } : null
  return JSON.stringify({ model, user, stream, stream_options, messages: [{ role: 'user', content }] })
}
