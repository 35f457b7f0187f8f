import { besideLargeBodies } from '../support/large-bodies.ts'
import { costOf } from '../support/cost.ts'
import type { Unit } from '../support/cost.ts'
import type { LoadOptions } from '../support/load-client.ts'
import type { Program } from '../../src/cli/bench/programs.ts'
import { TRANSLATED_MODEL } from '../support/programs.ts'
import type { SteadyOptions } from '../support/steady-load.ts'
import { relay, relaySteadily } from './relay.ts'
import type { Relayed } from './relay.ts'
import { median, percentile } from '../support/statistics.ts'

export interface Scenario {
  readonly name: string
  readonly unit: Unit
  /** Name of the scenario without translation that this one is compared with. Only the gateway runs it. */
  readonly translates?: string
  /** The same load without the disturbance, in turns with `run`, which should take no longer. Only the gateway runs it. */
  readonly undisturbed?: (program: Program) => Promise<Relayed>
  readonly body: string
  readonly run: (program: Program) => Promise<Relayed>
  /** Summarises all rounds. */
  readonly summarise: (rounds: readonly Relayed[]) => Row
}

/** One line of the table that the bench prints. */
export type Row = Readonly<Record<string, number>>

/** A chat request of about 620 bytes that steers the simulator. */
export function chatBody(stream: boolean, behaviour: object, model = 'sim-gpt'): string {
  const content = `${'The quick brown fox jumps over the lazy dog. '.repeat(10)}[[sim ${JSON.stringify(behaviour)}]]`
  const system = { role: 'system', content: 'Answer in one sentence.' }
  const messages = [system, { role: 'user', content }]
  // The gateway asks its upstream for the usage. With this option, direct clients get as many bytes.
  const usage = stream ? { stream_options: { include_usage: true } } : {}
  return JSON.stringify({ model, stream, ...usage, messages })
}

/** With 256 streams, about a third of what a core carries. */
const EVENTS_PER_SECOND = 50
/** More than a core carries. */
const FULL_EVENTS_PER_SECOND = 150
const STREAM_EVENTS = 250
const BEHAVIOUR = { tokens: 40 }
const STREAM_BEHAVIOUR = { tokens: STREAM_EVENTS, eventsPerSecond: EVENTS_PER_SECOND }
const FULL_BEHAVIOUR = { tokens: STREAM_EVENTS, eventsPerSecond: FULL_EVENTS_PER_SECOND }
/** The body of a small chat request with a buffered answer. */
export const BUFFERED = chatBody(false, BEHAVIOUR)

/** All scenarios. @param seconds of load for each target and round */
export function scenarios(seconds: number): readonly Scenario[] {
  return [
    ...countedScenarios(seconds),
    steadily('buffered: 300 requests per second', BUFFERED, seconds),
    {
      ...steadily('the same, while another client sends 2 MiB to be translated', BUFFERED, seconds),
      run: (program) => besideLargeBodies(program, () => relaySteadily(program, steadyOf(BUFFERED, seconds))),
      undisturbed: (program) => relaySteadily(program, steadyOf(BUFFERED, seconds)),
    },
  ]
}

/** The scenarios that count the CPU of a request or an event. */
export function countedScenarios(seconds: number): readonly Scenario[] {
  const manyStreams = { seconds, connections: 256, spreadMs: 1000 }
  const many = { seconds, connections: 64, spreadMs: 0 }
  const closed = counted('buffered: 64 connections, each sends as it gets', 'request', { ...many, body: BUFFERED })
  const streams = counted(
    `streamed: 256 streams, ${EVENTS_PER_SECOND} events per second each, ${STREAM_EVENTS} per answer`,
    'event',
    { ...manyStreams, body: chatBody(true, STREAM_BEHAVIOUR) },
  )
  const fullLoad = counted(
    `streamed, full load: 256 streams, ${FULL_EVENTS_PER_SECOND} events per second each, ${STREAM_EVENTS} per answer`,
    'event',
    { ...manyStreams, body: chatBody(true, FULL_BEHAVIOUR) },
  )
  const translated = chatBody(false, BEHAVIOUR, TRANSLATED_MODEL)
  const translatedStream = chatBody(true, STREAM_BEHAVIOUR, TRANSLATED_MODEL)
  return [
    closed,
    counted('buffered: 1 connection', 'request', { ...many, connections: 1, body: BUFFERED }),
    streams,
    fullLoad,
    { ...counted('translated, buffered', 'request', { ...many, body: translated }), translates: closed.name },
    {
      ...counted('translated, streamed', 'event', { ...manyStreams, body: translatedStream }),
      translates: streams.name,
    },
  ]
}

function counted(name: string, unit: Unit, options: LoadOptions): Scenario {
  return {
    name,
    unit,
    body: options.body,
    run: (program) => relay(program, options),
    summarise: (rounds) => {
      const costs = rounds.map((round) => costOf(round, unit))
      // The CPU is that of the best round: other load of the machine can only add to it.
      const least = costs.reduce((least, cost) => (cost.cpuUs < least.cpuUs ? cost : least))
      const first = {
        'first event p50 ms': median(costs.map(({ p50Ms }) => p50Ms)),
        'p99 ms': median(costs.map(({ p99Ms }) => p99Ms)),
      }
      return {
        [`CPU µs/${unit}`]: least.cpuUs,
        'of it control': least.controlUs,
        [`${unit}s/s`]: median(costs.map(({ perSecond }) => perSecond)),
        ...(unit === 'event' ? first : {}),
        ...common(rounds),
      }
    },
  }
}

function steadyOf(body: string, seconds: number): SteadyOptions {
  return { body, connections: 8, seconds, rate: 300 }
}

function steadily(name: string, body: string, seconds: number): Scenario {
  return {
    name,
    unit: 'request',
    body,
    run: (program) => relaySteadily(program, steadyOf(body, seconds)),
    summarise: (rounds) => ({
      'p50 ms': median(rounds.map(({ result }) => percentile(result.totalMs, 0.5))),
      'p99 ms': median(rounds.map(({ result }) => percentile(result.totalMs, 0.99))),
      ...common(rounds),
    }),
  }
}

function common(rounds: readonly Relayed[]): Row {
  return {
    'memory MiB': median(rounds.map(({ memoryMb }) => memoryMb)),
    errors: rounds.reduce((errors, { result }) => errors + result.errors, 0),
  }
}
