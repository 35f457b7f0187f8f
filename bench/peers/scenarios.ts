import { chatBody } from '../scenarios/table.ts'
import { percentile } from '../support/statistics.ts'
import { loaded, memoryMbOf } from './measure.ts'
import type { Loaded } from './measure.ts'
import type { Peer } from './peer.ts'

/** The values of one program in one round. */
export type Values = Readonly<Record<string, number>>

/** One line of the table. */
export interface Figure {
  readonly title: string
  /** @param direct the same round without any program before the upstream; NaN: there is no value */
  readonly of: (values: Values, direct: Values) => number
  /** The upstream has no such figure. */
  readonly ofProxies?: true
}

export interface Scenario {
  readonly name: string
  readonly figures: readonly Figure[]
  /** Measures one program in one round. */
  readonly run: (peer: Peer) => Promise<Values>
  /** Measures all programs after a round, when all are idle. */
  readonly after?: (peers: readonly Peer[]) => Promise<ReadonlyMap<Peer, Values>>
}

export interface Doses {
  /** Seconds of load for each program and round. */
  readonly seconds: number
  /** Number of concurrent streams to sustain. */
  readonly streams: number
}

export const BUFFERED_BODY = chatBody(false, { tokens: 40 })
export const MESSAGES_BODY = JSON.stringify({
  model: 'sim-gpt',
  max_tokens: 100,
  messages: [{ role: 'user', content: `${'The quick brown fox jumps. '.repeat(16)}[[sim {"tokens":40}]]` }],
})

const P99_BOUNDS_MS = [1, 5, 10, 50, 100]
const CLIENTS = [1, 4, 16, 64, 256]
/** Answers that are so late are cut off: a program that cannot follow must not hold up the run. */
const GRACE_MS = 5_000

const FULL_STREAMS = 64
const EVENTS_PER_SECOND = 400
const EVENTS = 200
const THIRD_OF_A_CORE_US = 1_000_000 / 3
export const STREAM_BODY = chatBody(true, { tokens: EVENTS, eventsPerSecond: EVENTS_PER_SECOND })
const SHORT_STREAM_BODY = chatBody(true, { tokens: 20 })

const SUSTAINED_EVENTS = 6
const SUSTAINED_EVENTS_PER_SECOND = 2
const SUSTAINED_SPREAD_MS = 1_500
const SUSTAINED_MS = (SUSTAINED_EVENTS / SUSTAINED_EVENTS_PER_SECOND) * 1000
export const SUSTAINED_BODY = chatBody(true, {
  tokens: SUSTAINED_EVENTS,
  eventsPerSecond: SUSTAINED_EVENTS_PER_SECOND,
})

/**
 * All scenarios, in the order in which they run.
 *
 * @param eventsOf number of events of a whole answer to `SUSTAINED_BODY`, as a program without load sends it
 */
export function scenarios(doses: Doses, eventsOf: (peer: Peer) => number): readonly Scenario[] {
  const { seconds, streams } = doses
  return [
    buffered(seconds),
    alone(seconds),
    bounds(seconds),
    streamed(seconds),
    translated(seconds),
    sustained(streams, eventsOf),
  ]
}

function buffered(seconds: number): Scenario {
  return {
    name: 'buffered',
    figures: [
      plain('CPU µs per request, 64 connections', 'cpuUs'),
      plain('requests/s, 64 connections', 'perSecond'),
      plain('memory MiB, loaded', 'loadedMb'),
      plain('memory MiB, recovered', 'recoveredMb'),
    ],
    run: async (peer) => {
      const values = perRequest(await loaded(peer, closedLoop(BUFFERED_BODY, 64, seconds)))
      return { ...values, loadedMb: memoryMbOf(peer) }
    },
    after: (peers) => Promise.resolve(new Map(peers.map((peer) => [peer, { recoveredMb: memoryMbOf(peer) }]))),
  }
}

function alone(seconds: number): Scenario {
  return {
    name: 'alone',
    figures: [
      plain('CPU µs per request, 1 connection', 'cpuUs'),
      added('added p50 ms, 1 connection', 'p50Ms'),
      added('added p99 ms, 1 connection', 'p99Ms'),
      added('added time to the first byte of a stream, p50 ms', 'firstMs'),
    ],
    run: async (peer) => {
      const values = perRequest(await loaded(peer, closedLoop(BUFFERED_BODY, 1, seconds)))
      const { result } = await loaded(peer, closedLoop(SHORT_STREAM_BODY, 1, seconds / 2))
      return { ...values, firstMs: percentile(result.firstByteMs, 0.5) }
    },
  }
}

function bounds(seconds: number): Scenario {
  return {
    name: 'bounds',
    figures: P99_BOUNDS_MS.map((ms) => plain(`requests/s with p99 ≤ ${ms} ms`, String(ms))),
    run: async (peer) => {
      const best: Record<string, number> = Object.fromEntries(P99_BOUNDS_MS.map((ms) => [ms, 0]))
      let errors = 0
      for (const clients of CLIENTS) {
        const values = perRequest(await loaded(peer, closedLoop(BUFFERED_BODY, clients, seconds / 2)))
        errors += values.errors
        for (const ms of P99_BOUNDS_MS) {
          if (values.p99Ms <= ms) best[ms] = Math.max(best[ms] ?? 0, values.perSecond)
        }
        if (values.p99Ms > Math.max(...P99_BOUNDS_MS)) break
      }
      return { ...best, errors }
    },
  }
}

function streamed(seconds: number): Scenario {
  const perEvent = async (peer: Peer, connections: number): Promise<{ cpuUs: number; perSecond: number }> => {
    const options = { body: STREAM_BODY, connections, seconds, spreadMs: 1000 * Math.min(1, seconds / 2) }
    const { result, cpuUs } = await loaded(peer, { ...options, graceMs: GRACE_MS })
    return { cpuUs: cpuUs / result.events, perSecond: result.events / result.seconds }
  }
  return {
    name: 'streamed',
    figures: [
      plain('CPU µs per event, full load', 'fullUs'),
      plain('events/s, full load', 'perSecond'),
      plain('CPU µs per event, a third of a core', 'thirdUs'),
    ],
    run: async (peer) => {
      const full = await perEvent(peer, FULL_STREAMS)
      const streams = Math.floor(THIRD_OF_A_CORE_US / full.cpuUs / EVENTS_PER_SECOND)
      const third = await perEvent(peer, Math.min(FULL_STREAMS, Math.max(1, streams)))
      return { fullUs: full.cpuUs, perSecond: full.perSecond, thirdUs: third.cpuUs }
    },
  }
}

function sustained(streams: number, eventsOf: (peer: Peer) => number): Scenario {
  return {
    name: 'sustained',
    figures: [plain(`of ${streams} streams, sustained`, 'whole'), plain(`events lost of ${streams} streams`, 'lost')],
    run: async (peer) => {
      // Each connection carries one stream: at the end of the first one, the time is over.
      const { result } = await loaded(peer, {
        body: SUSTAINED_BODY,
        connections: streams,
        seconds: (SUSTAINED_SPREAD_MS + 1) / 1000,
        spreadMs: SUSTAINED_SPREAD_MS,
        graceMs: SUSTAINED_MS + GRACE_MS,
      })
      return {
        whole: result.requests - result.errors,
        lost: streams * eventsOf(peer) - result.events,
      }
    },
  }
}

function translated(seconds: number): Scenario {
  return {
    name: 'translated',
    figures: [
      plain('CPU µs per request, messages to chat', 'cpuUs', true),
      plain('requests/s, messages to chat', 'perSecond', true),
    ],
    run: async (peer) => {
      if (peer.messages === null) return {}
      return perRequest(await loaded(peer, closedLoop(MESSAGES_BODY, 64, seconds), peer.messages))
    },
  }
}

function closedLoop(body: string, connections: number, seconds: number): Parameters<typeof loaded>[1] {
  return { body, connections, seconds, spreadMs: 0, graceMs: GRACE_MS }
}

function perRequest({ result, cpuUs }: Loaded): Record<'cpuUs' | 'perSecond' | 'p50Ms' | 'p99Ms' | 'errors', number> {
  return {
    cpuUs: cpuUs / result.requests,
    perSecond: (result.requests - result.errors) / result.seconds,
    p50Ms: percentile(result.totalMs, 0.5),
    p99Ms: percentile(result.totalMs, 0.99),
    errors: result.errors,
  }
}

function plain(title: string, name: string, ofProxies = false): Figure {
  return { title, of: (values) => values[name] ?? NaN, ...(ofProxies ? { ofProxies } : {}) }
}

function added(title: string, name: string): Figure {
  return { title, of: (values, direct) => (values[name] ?? NaN) - (direct[name] ?? NaN), ofProxies: true }
}
