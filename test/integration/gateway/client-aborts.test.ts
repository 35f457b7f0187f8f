import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Behaviour } from '../../../src/simulator/behaviour.ts'
import type { RequestRecord } from '../../../src/simulator/ledger.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { eventually } from '../../support/eventually.ts'
import type { LogRow, TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { LoopLag } from '../../support/loop-lag.ts'
import { RawClient, inLanes, postBytes } from '../../support/raw-client.ts'
import type { RawPost } from '../../support/raw-client.ts'
import { SeededRandom } from '../../support/seeded-random.ts'
import { steeredRequest } from '../../support/steered-request.ts'

const SEED = 20_260_503
const ABORTS = 400
const LANES = 8
const P99_MS = 100
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
  leftAt: number
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
  leftAt: 0,
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
      { dialect: 'anthropic-messages', baseUrl, models: ['anthropic-messages'], keys: keys('messages-key') },
    ],
  })
  healthBefore = await capacity()
  console.log(`client aborts: seed ${SEED}`)
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

it('stops the upstream within 100 ms of the client leaving, at whatever stage', { timeout: 300_000 }, async () => {
  const front = gateway.children().find(({ kind }) => kind === 'front')
  const lag = new LoopLag(front?.pid ?? 0)
  const stalled = (leaving: Leaving): boolean => leaving.stage === STALLED_STAGE
  await inLanes(
    leavings.filter((leaving) => !stalled(leaving)),
    LANES,
    leave,
  )
  // They fill the kernel's buffers as fast as it goes, which is not to be measured with the others.
  await inLanes(leavings.filter(stalled), 2, leave)
  await eventually(
    () => {
      expect(simulator.ledger.totals.inFlight).toBe(0)
    },
    { timeoutMs: 30_000 },
  )

  lag.stop()
  records = grouped(simulator.ledger.records(), userOf)
  const raw: number[] = []
  const delays: number[] = []
  for (const leaving of leavings) {
    const [record, ...more] = records.get(userName(leaving)) ?? []
    expect(more, leaving.stage).toEqual([])
    if (leaving.stage === 'half of the body sent') {
      expect(record, leaving.stage).toBeUndefined()
      continue
    }
    expect(record, leaving.stage).toMatchObject({ outcome: 'aborted' })
    const seenAt = record?.abortSeenAt ?? Infinity
    raw.push(seenAt - leaving.leftAt)
    // What a busy machine adds is not the gateway's.
    delays.push(seenAt - leaving.leftAt - lag.within(leaving.leftAt, seenAt))
  }
  const at = (all: readonly number[], share: number): number =>
    [...all].sort((a, b) => a - b)[Math.ceil(all.length * share) - 1] ?? Infinity
  const figures = (all: readonly number[]): string =>
    [0.5, 0.99, 1].map((share) => Math.round(at(all, share))).join(', ')
  console.log(
    `client aborts: ${delays.length} upstreams stopped, p50, p99, max after ${figures(delays)} ms; with what the machine ` +
      `kept the two processes waiting for: ${figures(raw)} ms`,
  )
  expect(delays.length).toBe((ABORTS * (STAGES.length - 1)) / STAGES.length)
  expect(at(delays, 0.99)).toBeLessThanOrEqual(P99_MS)
  // However busy the machine: a delay of the gateway's own would be there every time.
  expect(at(raw, 0.5)).toBeLessThanOrEqual(P99_MS)
})

it('records each of them once, as left by the client', { timeout: 60_000 }, async () => {
  rows = await eventually(
    async () => {
      const all = await gateway.logRows()
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

it('has every slot back: as many requests as there are slots are served at once', { timeout: 60_000 }, async () => {
  expect(await capacity()).toEqual(healthBefore)
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
  leaving.leftAt = Date.now()
  if (leaving.reset) client.reset()
  else client.close()
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
  const { status, available_keys, total_concurrency } = (await response.json()) as Record<string, unknown>
  return { status, available_keys, total_concurrency }
}

function grouped<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>()
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item])
  return groups
}
