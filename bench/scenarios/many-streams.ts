import { setTimeout as elapsed } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { descriptorLimit, maxConnections } from '../../src/shared/runtime/descriptors.ts'
import type { Answered, LoadTarget } from '../support/load-client.ts'
import { LoadConnection } from '../support/load-client.ts'
import { startGateway, startSimulator } from '../support/programs.ts'
import { residentMbOfGateway } from '../support/resident-memory.ts'
import { percentile } from '../support/statistics.ts'
import { chatBody } from './table.ts'

const { values } = parseArgs({
  options: {
    /** Streams that are open at the same time; default: as many as the limit of descriptors allows, 20 000 at most. */
    streams: { type: 'string' },
    /** Streams that open in a second. */
    rate: { type: 'string', default: '500' },
    /** Events of a stream in a second. */
    events: { type: 'string', default: '0.5' },
    /** Seconds in which all are open. */
    hold: { type: 'string', default: '10' },
  },
})

const MOST = 20_000
/** The promised bounds. */
const MAX_KB = 16
const MAX_FIRST_MS = 1_000

const WORKER_THREADS = 4
const WARM_UP = 200
const SAMPLE_MS = 500
/** After the last stream, for the memory of a front that gives back what it does not need. */
const REST_MS = 15_000
/** Answers that are not whole so long after the pace of the upstream are late. */
const GRACE_MS = 30_000

interface Opened {
  readonly ok: boolean
  /** Milliseconds from the begin of the connection to the first byte of the body. */
  readonly firstMs: number
  readonly events: number
}

/** Opens many slow streams through one front, and holds them. */
async function main(): Promise<boolean> {
  const possible = maxConnections(descriptorLimit(), WORKER_THREADS) - WARM_UP
  const streams = Number(values.streams ?? Math.min(MOST, possible))
  const rate = Number(values.rate)
  const openingS = streams / rate
  const lifeS = openingS + Number(values.hold)
  const perSecond = Number(values.events)
  const tokens = Math.ceil(lifeS * perSecond)
  const body = chatBody(true, { tokens, eventsPerSecond: perSecond })
  console.log(
    `${streams} streams (${descriptorLimit()} descriptors), ${rate} more a second, each of ${tokens} tokens in ${Math.round(lifeS)} s`,
  )
  const simulator = await startSimulator()
  const gateway = await startGateway({ upstreamBaseUrl: simulator.baseUrl })
  try {
    const { ok, events: expected } = await streamed(gateway, chatBody(true, { tokens }))
    if (!ok) throw new Error('the first stream, with which all are compared, was not whole')
    for (let at = 0; at < WARM_UP; at++) await streamed(gateway, chatBody(true, { tokens: 5 }))
    const before = frontMb(gateway.pid)
    let peak = before
    const sampling = setInterval(() => {
      peak = Math.max(peak, frontMb(gateway.pid))
    }, SAMPLE_MS)
    const load = { body, streams, rate, endMs: (openingS + lifeS) * 1000 + GRACE_MS }
    const opened = await openAll(gateway, load).finally(() => {
      clearInterval(sampling)
    })
    await elapsed(REST_MS)
    const after = frontMb(gateway.pid)
    return report({ opened, expected, before, peak, after })
  } finally {
    await gateway.stop()
    await simulator.stop()
  }
}

function frontMb(pid: number): number {
  return residentMbOfGateway(pid).get('front') ?? 0
}

interface Load {
  readonly body: string
  readonly streams: number
  readonly rate: number
  /** Milliseconds after the begin at which streams that are not whole are cut off. */
  readonly endMs: number
}

async function openAll(target: LoadTarget, { body, streams, rate, endMs }: Load): Promise<readonly Opened[]> {
  const startMs = performance.now()
  const open = new Set<LoadConnection>()
  const timer = setTimeout(() => {
    for (const connection of open) connection.close()
  }, endMs)
  const all: Array<Promise<Opened>> = []
  while (all.length < streams) {
    const due = Math.min(streams, Math.floor(((performance.now() - startMs) / 1000) * rate) + 1)
    while (all.length < due) all.push(streamed(target, body, open))
    await elapsed(2)
  }
  const opened = await Promise.all(all)
  clearTimeout(timer)
  return opened
}

/** @param open has the connection while it is open */
async function streamed(target: LoadTarget, body: string, open = new Set<LoadConnection>()): Promise<Opened> {
  const startMs = performance.now()
  let connection: LoadConnection
  try {
    connection = await LoadConnection.open(target, body)
  } catch {
    return { ok: false, firstMs: NaN, events: 0 }
  }
  open.add(connection)
  const connectedMs = performance.now() - startMs
  const { ok, firstByteMs, events } = await new Promise<Answered>((resolve) => {
    connection.send(resolve)
  })
  open.delete(connection)
  connection.close()
  return { ok, firstMs: connectedMs + firstByteMs, events }
}

interface Measured {
  readonly opened: readonly Opened[]
  /** Events of a whole stream. */
  readonly expected: number
  /** Mebibytes of the front. */
  readonly before: number
  readonly peak: number
  readonly after: number
}

function report({ opened, expected, before, peak, after }: Measured): boolean {
  const whole = opened.filter(({ ok }) => ok)
  const lost = whole.reduce((sum, { events }) => sum + Math.max(0, expected - events), 0)
  const firstMs = whole.map((one) => one.firstMs)
  const first = percentile(firstMs, 0.99)
  const kb = ((peak - before) * 1024) / opened.length
  console.table({
    'whole streams': `${whole.length} of ${opened.length}`,
    'events lost of whole streams': lost,
    'first byte p50, p99, longest ms': [percentile(firstMs, 0.5), first, Math.max(...firstMs)]
      .map(Math.round)
      .join(', '),
    'front before, at most, afterwards MiB': [before, peak, after].map(Math.round).join(', '),
    'KB of a stream': Math.round(kb * 10) / 10,
  })
  const isHeld = whole.length === opened.length && lost === 0 && first <= MAX_FIRST_MS && kb <= MAX_KB
  if (!isHeld)
    console.log(`NOT HELD: all streams whole, no event lost, first byte p99 ${MAX_FIRST_MS} ms, ${MAX_KB} KB each`)
  return isHeld
}

process.exitCode = (await main()) ? 0 : 1
