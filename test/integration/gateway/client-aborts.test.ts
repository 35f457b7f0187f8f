import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Behaviour } from '../../../src/simulator/behaviour.ts'
import type { RequestRecord } from '../../../src/simulator/ledger.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { dose } from '../../support/dose.ts'
import { eventually } from '../../support/eventually.ts'
import type { LogRow, TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { RawClient, inLanes, postBytes } from '../../support/raw-client.ts'
import type { RawPost } from '../../support/raw-client.ts'
import { SeededRandom } from '../../support/seeded-random.ts'
import { steeredRequest } from '../../support/steered-request.ts'

const SEED = 20_260_503
/** A multiple of the stages. */
const ABORTS = dose('SLUICE_TEST_ABORTS', { short: 120, long: 400 })
const LANES = 8
/** Requests that go the same way behind a client that has left: by the answer to the last, its upstream has been stopped. */
const FENCES = 3
const SLOTS = 64
const ENDLESS_TOKENS = 10_000_000

/** Where an answer is when its client leaves. */
const STAGES = [
  'half of the body sent',
  'before the head',
  'before the first event',
  'at the first event',
  'in mid-stream',
  'in a fast stream',
  'not reading any more',
  'waiting for a whole answer',
] as const
type Stage = (typeof STAGES)[number]
const STALLED_STAGE: Stage = 'not reading any more'

interface Leaving {
  readonly n: number
  readonly stage: Stage
  readonly dialect: 'openai-chat' | 'anthropic-messages'
  readonly reset: boolean
  /** Bytes of the body to read before leaving. */
  readonly bytes: number
  /** Its upstream had been stopped when the fences were answered. */
  stoppedInTime: boolean
}

let simulator: Simulator
let gateway: TestGateway
let healthBefore: unknown
const random = new SeededRandom(SEED)
const leavings = Array.from({ length: ABORTS }, (_, n): Leaving => ({
  n,
  stage: STAGES[n % STAGES.length] ?? 'before the head',
  dialect:
    STAGES[n % STAGES.length] === STALLED_STAGE ? 'openai-chat' : random.pick(['openai-chat', 'anthropic-messages']),
  // A reset takes with it what the gateway has not read yet: half a request would never have been there.
  reset: random.next() < 0.5 && n % STAGES.length !== 0,
  bytes: random.between(1_000, 20_000),
  stoppedInTime: false,
}))
let rows: ReadonlyMap<string, readonly LogRow[]> = new Map()
let records: ReadonlyMap<string, readonly RequestRecord[]> = new Map()

beforeAll(async () => {
  simulator = await startSimulator()
  const keys = (credential: string): Array<Record<string, unknown>> => [{ credential, max_concurrency: SLOTS }]
  const baseUrl = `${simulator.origin}/v1`
  gateway = await startGateway({
    upstreams: [
      { dialect: 'openai-chat', baseUrl, models: ['openai-chat'], keys: keys('chat-key') },
      { dialect: 'openai-chat', baseUrl, models: ['endless'], keys: keys('endless-key') },
      { dialect: 'openai-chat', baseUrl, models: ['fence'], keys: keys('fence-key') },
      { dialect: 'anthropic-messages', baseUrl, models: ['anthropic-messages'], keys: keys('messages-key') },
    ],
  })
  // It may be held up for seconds, and then its control process has told the front nothing yet.
  healthBefore = await eventually(async () => {
    const now = await capacity()
    expect(now).toMatchObject({ status: 'healthy' })
    return now
  })
  console.log(`client aborts: seed ${SEED}`)
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

it('stops the upstream before it serves the next, at whatever stage', { timeout: 300_000 }, async () => {
  const stalled = (leaving: Leaving): boolean => leaving.stage === STALLED_STAGE
  await inLanes(
    leavings.filter((leaving) => !stalled(leaving)),
    LANES,
    leave,
  )
  // They fill the kernel's buffers as fast as it goes.
  await inLanes(leavings.filter(stalled), 2, leave)
  await eventually(
    () => {
      expect(simulator.ledger.totals.inFlight).toBe(0)
    },
    { timeoutMs: 30_000 },
  )

  records = grouped(simulator.ledger.records(), userOf)
  for (const leaving of leavings) {
    const [record, ...more] = records.get(userName(leaving)) ?? []
    expect(more, leaving.stage).toEqual([])
    if (leaving.stage === 'half of the body sent') {
      expect(record, leaving.stage).toBeUndefined()
      continue
    }
    expect(record, leaving.stage).toMatchObject({ outcome: 'aborted' })
  }
  const late = leavings.filter(({ stoppedInTime }) => !stoppedInTime).map(({ stage }) => stage)
  expect(late).toEqual([])
})

it('records each of them once, as left by the client', { timeout: 60_000 }, async () => {
  rows = await eventually(
    async () => {
      const all = (await gateway.logRows()).filter(({ model }) => model !== 'fence')
      expect(all.length).toBeGreaterThanOrEqual(ABORTS)
      return grouped(all, (row) => row.client_request_id ?? '')
    },
    { timeoutMs: 50_000, everyMs: 500 },
  )
  for (const leaving of leavings) {
    const [row, ...more] = rows.get(userName(leaving)) ?? []
    expect(more, leaving.stage).toEqual([])
    // The head has left with the first event; before that the client has had no status.
    const begun = /event$|stream$|reading/.test(leaving.stage) && leaving.stage !== 'before the first event'
    const wanted = begun
      ? { status: 200, aborted: true, settlement: 'observed', attempts: 1 }
      : { status: 499, aborted: true, attempts: leaving.stage === 'half of the body sent' ? 0 : 1 }
    expect(row, `${leaving.stage} ${leaving.dialect}`).toMatchObject(wanted)
    if (leaving.stage === 'before the head' || leaving.stage === 'waiting for a whole answer') {
      expect(row, leaving.stage).toMatchObject({ settlement: 'estimated', completion_tokens: 0 })
      expect(row?.prompt_tokens, leaving.stage).toBeGreaterThan(0)
    }
    // The first event has no text yet.
    if (begun && leaving.stage !== 'at the first event') {
      expect(row?.completion_tokens, leaving.stage).toBeGreaterThan(0)
    }
  }
  expect([...rows.values()].flat().length).toBe(ABORTS)
})

it('never books many more tokens than the upstream produced', () => {
  for (const leaving of leavings) {
    if (leaving.stage === STALLED_STAGE) continue
    const row = rows.get(userName(leaving))?.[0]
    const produced = records.get(userName(leaving))?.[0]?.completionTokens ?? 0
    // Four bytes are taken for a token where only text was seen; the simulator's words are a little longer than that.
    expect(row?.completion_tokens, leaving.stage).toBeLessThanOrEqual(2 * produced + 4)
  }
})

it('has every slot back: as many requests as there are slots are served at once', { timeout: 90_000 }, async () => {
  // On a busy machine the gateway may be degraded for a while: with the records of all of them still to be settled, for one.
  await eventually(
    async () => {
      expect(await capacity()).toEqual(healthBefore)
    },
    { timeoutMs: 45_000 },
  )
  simulator.reset()
  const statuses: number[] = []
  await inLanes(
    Array.from({ length: SLOTS }, (_, n) => n),
    SLOTS,
    async (n) => {
      const client = await RawClient.connect(gateway.port)
      const answer = await client.post(requestOf({ n: 10_000 + n, dialect: 'openai-chat' }, true, { ttftMs: 2_000 }))
      client.close()
      statuses.push(answer.status)
    },
  )
  expect(statuses).toEqual(Array<number>(SLOTS).fill(200))
  expect(simulator.ledger.totals).toMatchObject({ ok: SLOTS, maxInFlight: SLOTS })
})

it('reports no fault of its own', () => {
  const faults = gateway.output.split('\n').filter((line) => /"level":(?:50|60)|unhandled|Error:/i.test(line))
  expect(faults).toEqual([])
})

async function leave(leaving: Leaving): Promise<void> {
  const client = await RawClient.connect(gateway.port, { readBytes: 4_096 })
  const request = requestOf(leaving, leaving.stage !== 'waiting for a whole answer', BEHAVIOURS[leaving.stage])
  const bytes = postBytes(request)
  // It never ends, or ends in a way that another suite looks at.
  client.answer(() => undefined).catch(() => undefined)
  if (leaving.stage === 'half of the body sent') {
    client.send(bytes.subarray(0, bytes.length - 10))
    await onWire(client, bytes.length - 10)
  } else {
    client.send(bytes)
    await arrived(client, leaving)
  }
  if (leaving.reset) client.reset()
  else client.close()
  if (leaving.stage === 'half of the body sent') leaving.stoppedInTime = true
  else leaving.stoppedInTime = await stoppedBehindFences(leaving)
}

async function stoppedBehindFences(leaving: Leaving): Promise<boolean> {
  const client = await RawClient.connect(gateway.port)
  for (let fence = 0; fence < FENCES; fence++) {
    const body = JSON.stringify({ model: 'fence', messages: [{ role: 'user', content: 'hello' }] })
    const headers = { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' }
    expect((await client.post({ path: '/v1/chat/completions', headers, body })).status).toBe(200)
  }
  client.close()
  return simulator.ledger.records().some((record) => record.user === userName(leaving))
}

const BEHAVIOURS: Readonly<Record<Stage, Behaviour>> = {
  'half of the body sent': {},
  'before the head': { fault: 'hang-before-headers' },
  'before the first event': { fault: 'hang-after-headers' },
  'at the first event': { tokens: 100_000, eventsPerSecond: 20 },
  'in mid-stream': { tokens: 100_000, eventsPerSecond: 400 },
  'in a fast stream': { tokens: 1_000_000, eventsPerSecond: 10_000 },
  'not reading any more': { tokens: ENDLESS_TOKENS },
  'waiting for a whole answer': { ttftMs: 120_000 },
}

/** Resolves when the answer has got as far as the stage says. */
async function arrived(client: RawClient, leaving: Leaving): Promise<void> {
  const { stage, bytes } = leaving
  switch (stage) {
    case 'at the first event':
      return bodyOf(client, 1)
    case 'in mid-stream':
    case 'in a fast stream':
      return bodyOf(client, bytes)
    case 'not reading any more':
      await bodyOf(client, bytes)
      client.pause()
      return upstreamHeldBack()
    default:
      return upstreamHas(leaving)
  }
}

function bodyOf(client: RawClient, bytes: number): Promise<void> {
  return new Promise((resolve) => {
    client.onRead(() => {
      if (client.bodyBytes >= bytes) resolve()
    })
  })
}

/** The simulator has the whole request. */
async function upstreamHas(leaving: Leaving): Promise<void> {
  await eventually(() => {
    const log = simulator.requests().filter(({ body }) => body.includes(`"${userName(leaving)}"`))
    expect(log.length).toBe(1)
  })
}

/** What the kernel takes has been written: the rest waits, and the gateway for its reader. */
async function upstreamHeldBack(): Promise<void> {
  let before = -1
  await eventually(
    () => {
      const { bytesWritten } = simulator.ledger.of('endless-key')
      const growth = bytesWritten - before
      before = bytesWritten
      expect(growth).toBe(0)
    },
    { everyMs: 200 },
  )
}

function onWire(client: RawClient, bytes: number): Promise<unknown> {
  return eventually(() => {
    expect(client.socket.bytesWritten).toBeGreaterThanOrEqual(bytes)
    expect(client.socket.writableLength).toBe(0)
  })
}

function requestOf({ n, dialect }: Pick<Leaving, 'n' | 'dialect'>, stream: boolean, behaviour: Behaviour): RawPost {
  const model = behaviour.tokens === ENDLESS_TOKENS ? 'endless' : dialect
  return steeredRequest({ apiKey: gateway.apiKey, dialect, model, user: userName({ n }), stream, behaviour })
}

function userName({ n }: Pick<Leaving, 'n'>): string {
  return `leaving-${n}`
}

function userOf(record: RequestRecord): string {
  return record.user ?? ''
}

async function capacity(): Promise<unknown> {
  const response = await fetch(`${gateway.url}/health`)
  const { status, reasons, available_keys, total_concurrency } = (await response.json()) as Record<string, unknown>
  return { status, reasons, available_keys, total_concurrency }
}

function grouped<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>()
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item])
  return groups
}
