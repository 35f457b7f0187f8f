import { setTimeout as elapsed } from 'node:timers/promises'
import { commitOf, machine, writeReport } from '../../src/cli/bench/machine.ts'
import type { Machine } from '../../src/cli/bench/result.ts'
import { besideOthers } from '../../src/cli/bench/process-use.ts'
import { startSimulator } from '../support/programs.ts'
import { checked, checkMessages } from './check.ts'
import { loaded, memoryMbOf } from './measure.ts'
import { isIsolated } from './peer.ts'
import type { Peer } from './peer.ts'
import { summarise, tableOf, UPSTREAM } from './results.ts'
import type { Results } from './results.ts'
import { BUFFERED_BODY, MESSAGES_BODY, scenarios, STREAM_BODY, SUSTAINED_BODY } from './scenarios.ts'
import type { Doses, Scenario, Values } from './scenarios.ts'
import { direct, STARTERS } from './start.ts'
import type { Surroundings } from './start.ts'

export interface Options extends Doses {
  /** Beginnings of the names of scenarios. */
  readonly only: readonly string[]
  /** Names of `STARTERS`. */
  readonly peers: readonly string[]
  readonly rounds: number
  /** Seconds of load for each program before the first round. */
  readonly warmUp: number
  /** The folder of `install.sh`. */
  readonly dir: string
  /** The report is written to this file after every scenario. */
  readonly out: string
}

/** The content of the file. */
export interface Report {
  readonly machine: Machine
  readonly commit: string
  readonly versions: Readonly<Record<string, string>>
  /** Whether the programs had a network without any address but the loopback one. */
  readonly isolated: boolean
  readonly options: Options
  /** The share of the machine that other programs took, by scenario. */
  readonly elsewhere: Readonly<Record<string, number>>
  /** Failed requests of scenarios without overload, by program. */
  readonly failed: Readonly<Record<string, number>>
  readonly results: Results
}

const IDLE_MS = 2_000

/** Measures Sluice and its peers in turns, with the same upstream and the same load, and prints tables. */
export async function benchPeers(options: Options): Promise<Report> {
  const { rounds, out } = options
  const surroundings = { dir: options.dir, upstream: await startSimulator() }
  const peers: Peer[] = [direct(surroundings)]
  const results: Record<string, Results[string]> = {}
  const failed: Record<string, number> = {}
  const elsewhere: Record<string, number> = {}
  try {
    await startAll(peers, surroundings, options.peers)
    const events = await checkAll(peers)
    const all = chosen(
      scenarios(options, (peer) => events.get(peer) ?? NaN),
      options.only,
    )
    const versions = Object.fromEntries(peers.map(({ name, version }) => [name, version]))
    const report = { machine: machine(), commit: commitOf('.'), versions, isolated: isIsolated(), options }
    results['memory MiB, idle'] = await idleMemory(peers)
    await warmUp(peers, options.warmUp)
    for (const scenario of all) {
      const { result: measured, elsewhere: share } = await besideOthers(() => inRounds(scenario, peers, rounds))
      elsewhere[scenario.name] = share
      for (const round of measured) {
        for (const [name, { errors = 0 }] of Object.entries(round)) failed[name] = (failed[name] ?? 0) + errors
      }
      const figures = summarise(scenario, measured)
      Object.assign(results, figures)
      console.log(`\n${scenario.name} (other programs took ${Math.round(share * 100)} % of the machine)\n`)
      console.log(tableOf(figures, namesOf(peers)))
      writeReport(out, { ...report, elsewhere, failed, results })
    }
    console.log(`\nall scenarios, the median of ${rounds} rounds (least–most)\n`)
    console.log(tableOf(results, namesOf(peers)))
    console.log(`\nfailed requests: ${JSON.stringify(failed)}\nwritten to ${out}`)
    return { ...report, elsewhere, failed, results }
  } finally {
    for (const peer of [...peers].reverse()) await peer.stop()
  }
}

/** Whether Sluice answered every request, and lost no event. */
export function isWhole({ failed, results, versions }: Report): boolean {
  const lost = Object.entries(results).filter(([title]) => title.startsWith('events lost'))
  return Object.keys(versions)
    .filter((name) => name.startsWith('sluice'))
    .every((name) => (failed[name] ?? 0) === 0 && lost.every(([, of]) => (of[name]?.max ?? 0) === 0))
}

/** Starts the programs that `--peers` names. A program that is not installed, or does not start, is left out with a line. */
async function startAll(peers: Peer[], surroundings: Surroundings, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const start = STARTERS[name]
    if (start === undefined) throw new Error(`--peers: ${name} is none of ${Object.keys(STARTERS).join(', ')}`)
    const peer = await start(surroundings).catch((cause: unknown) => leftOut(name, cause))
    if (peer === null)
      console.log(`${name} is not installed in ${surroundings.dir}: it is left out (bench/peers/install.sh)`)
    else if (peer !== undefined) {
      console.log(`${name} ${peer.version}`)
      peers.push(peer)
    }
  }
}

/** Leaves out programs with other answers than the upstream. Resolves to the number of events of a sustained stream. */
async function checkAll(peers: Peer[]): Promise<ReadonlyMap<Peer, number>> {
  const events = new Map<Peer, number>()
  const [base] = peers
  if (base === undefined) return events
  for (const peer of [...peers]) {
    try {
      for (const body of [BUFFERED_BODY, STREAM_BODY]) await checked(base, peer, body)
      events.set(peer, (await checked(base, peer, SUSTAINED_BODY)).events)
      if (peer.messages !== null) await checkMessages(peer.messages, MESSAGES_BODY)
    } catch (cause) {
      leftOut(peer.name, cause)
      peers.splice(peers.indexOf(peer), 1)
      await peer.stop()
    }
  }
  return events
}

/** Says why a peer is left out. Sluice is never left out. */
function leftOut(name: string, cause: unknown): undefined {
  if (name.startsWith('sluice') || name.startsWith(UPSTREAM)) throw cause
  console.log(`${name} is left out: ${cause instanceof Error ? cause.message : String(cause)}`)
}

async function idleMemory(peers: readonly Peer[]): Promise<Results[string]> {
  await elapsed(IDLE_MS)
  return Object.fromEntries(
    peers.map((peer) => {
      const mb = Math.round(memoryMbOf(peer))
      return [peer.name, { median: mb, min: mb, max: mb, rounds: [mb] }]
    }),
  )
}

async function warmUp(peers: readonly Peer[], seconds: number): Promise<void> {
  for (const peer of peers) {
    for (const body of [BUFFERED_BODY, STREAM_BODY]) {
      const half = { body, connections: 64, seconds: seconds / 2, spreadMs: 0, graceMs: 5_000 }
      await loaded(peer, half)
    }
  }
}

/** Measures the programs in turns, so that other load of the machine affects all of them. Each round begins with the next program. */
async function inRounds(
  { run, after }: Scenario,
  peers: readonly Peer[],
  rounds: number,
): Promise<Array<Record<string, Values>>> {
  const all: Array<Record<string, Values>> = []
  for (let round = 0; round < rounds; round++) {
    const first = round % peers.length
    const measured: Record<string, Values> = {}
    for (const peer of [...peers.slice(first), ...peers.slice(0, first)]) {
      const own = await run(peer).catch((cause: unknown) => leftOut(`${peer.name}, round ${round + 1},`, cause))
      measured[peer.name] = own ?? {}
    }
    if (after !== undefined) {
      await elapsed(IDLE_MS)
      for (const [{ name }, own] of await after(peers)) measured[name] = { ...measured[name], ...own }
    }
    all.push(measured)
  }
  return all
}

function namesOf(peers: readonly Peer[]): string[] {
  return peers.map(({ name }) => name)
}

function chosen(all: readonly Scenario[], only: readonly string[]): readonly Scenario[] {
  const asked = all.filter(({ name }) => only.some((start) => name.startsWith(start)))
  if (asked.length > 0) return asked
  throw new Error(`--only must be the beginning of one of: ${all.map(({ name }) => name).join(', ')}`)
}
