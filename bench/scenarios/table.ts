import { besideLargeBodies } from '../support/large-bodies.ts'
import { percentile } from '../support/load-client.ts'
import type { Program } from '../support/programs.ts'
import { TRANSLATED_MODEL } from '../support/programs.ts'
import type { SteadyOptions } from '../support/steady-load.ts'
import { relay, relaySteadily } from './relay.ts'
import type { Relayed } from './relay.ts'

export interface Scenario {
  readonly name: string
  readonly unit: 'request' | 'event'
  /** For the gateway alone, which translates: beside this scenario, whose answers say the same. */
  readonly translates?: string
  /** Without what disturbs it: the gateway alone, in turns with `run`, which is to take no longer. */
  readonly undisturbed?: (program: Program) => Promise<Relayed>
  readonly body: string
  readonly run: (program: Program) => Promise<Relayed>
  /** Of all rounds together. */
  readonly summarise: (rounds: readonly Relayed[]) => Row
}

/** One line of the table that the bench prints. */
export type Row = Readonly<Record<string, number>>

/** A chat request of about 620 bytes that steers the simulator. */
function chatBody(stream: boolean, behaviour: object, model = 'sim-gpt'): string {
  const content = `${'The quick brown fox jumps over the lazy dog. '.repeat(10)}[[sim ${JSON.stringify(behaviour)}]]`
  const system = { role: 'system', content: 'Answer in one sentence.' }
  const messages = [system, { role: 'user', content }]
  // Told to, the simulator sends as many bytes to a client as to a gateway that wants to know the usage.
  const usage = stream ? { stream_options: { include_usage: true } } : {}
  return JSON.stringify({ model, stream, ...usage, messages })
}

const EVENTS_PER_SECOND = 50
const STREAM_EVENTS = 250

/** What is measured. `seconds` is per target and round. */
export function scenarios(seconds: number): readonly Scenario[] {
  const ofBuffered = { tokens: 40 }
  const ofStreamed = { tokens: STREAM_EVENTS, eventsPerSecond: EVENTS_PER_SECOND }
  const buffered = chatBody(false, ofBuffered)
  const closed = closedLoop('buffered: 64 connections, each sends as it gets', buffered, seconds)
  const streams = streaming(
    `streamed: 256 streams, ${EVENTS_PER_SECOND} events per second each, ${STREAM_EVENTS} per answer`,
    chatBody(true, ofStreamed),
    seconds,
  )
  const steady = steadily('buffered: 300 requests per second', buffered, seconds)
  return [
    closed,
    steady,
    streams,
    {
      ...closedLoop('translated, buffered', chatBody(false, ofBuffered, TRANSLATED_MODEL), seconds),
      translates: closed.name,
    },
    {
      ...streaming('translated, streamed', chatBody(true, ofStreamed, TRANSLATED_MODEL), seconds),
      translates: streams.name,
    },
    {
      ...steadily('the same, while another client sends 2 MiB to be translated', buffered, seconds),
      run: (program) => besideLargeBodies(program, () => relaySteadily(program, steadyOf(buffered, seconds))),
      undisturbed: (program) => relaySteadily(program, steadyOf(buffered, seconds)),
    },
  ]
}

function closedLoop(name: string, body: string, seconds: number): Scenario {
  return {
    name,
    unit: 'request',
    body,
    run: (program) => relay(program, { body, connections: 64, seconds, spreadMs: 0 }),
    summarise: (rounds) => ({
      ...cpuPer(rounds, 'request', ({ result }) => result.requests),
      'requests/s': median(rounds.map(({ result }) => result.requests / result.seconds)),
      ...common(rounds),
    }),
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

function streaming(name: string, body: string, seconds: number): Scenario {
  return {
    name,
    unit: 'event',
    body,
    run: (program) => relay(program, { body, connections: 256, seconds, spreadMs: 1000 }),
    summarise: (rounds) => ({
      ...cpuPer(rounds, 'event', ({ result }) => result.events),
      'events/s': median(rounds.map(({ result }) => result.events / result.seconds)),
      'first event p50 ms': median(rounds.map(({ result }) => percentile(result.firstByteMs, 0.5))),
      'p99 ms': median(rounds.map(({ result }) => percentile(result.firstByteMs, 0.99))),
      ...common(rounds),
    }),
  }
}

function common(rounds: readonly Relayed[]): Row {
  return {
    'memory MiB': median(rounds.map(({ memoryMb }) => memoryMb)),
    errors: sum(rounds, ({ result }) => result.errors),
  }
}

/** Of the round that was disturbed least: whatever else the machine does only adds. The settler runs in the control process. */
function cpuPer(rounds: readonly Relayed[], unit: string, count: (round: Relayed) => number): Row {
  const costs = rounds.map((round) => ({
    total: [...round.cpuUs.values()].reduce((all, us) => all + us, 0) / count(round),
    control: (round.cpuUs.get('control') ?? 0) / count(round),
  }))
  const [least = { total: NaN, control: NaN }] = costs.sort((a, b) => a.total - b.total)
  return { [`CPU µs/${unit}`]: least.total, 'of it control': least.control }
}

function sum(rounds: readonly Relayed[], of: (round: Relayed) => number): number {
  return rounds.reduce((total, round) => total + of(round), 0)
}

function median(values: readonly number[]): number {
  return percentile(values, 0.5)
}
