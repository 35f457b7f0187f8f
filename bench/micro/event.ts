/*
 * Measures the JavaScript of a relayed event in one process: nanoseconds of CPU and bytes of garbage, for each kind of stream.
 * A real event costs several times that: the kernel and the event loop are missing, and the code is warm.
 *
 *   npx tsc -p tsconfig.bench.json && node .tmp/bench/bench/micro/event.js
 *
 * `--base DIR` measures another checkout in turns, compiled in the same way (`DIR/.tmp/bench`), and prints the ratio.
 */
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { getHeapStatistics } from 'node:v8'
import { KINDS } from '../support/event-streams.ts'
import type * as Streams from '../support/event-streams.ts'
import type { Kind } from '../support/event-streams.ts'
import { median } from '../support/statistics.ts'

const { values } = parseArgs({
  options: {
    base: { type: 'string' },
    /** Measures only kinds whose name begins so. */
    only: { type: 'string', default: '' },
    rounds: { type: 'string', default: '40' },
  },
})

const STREAMS = 256
const WARM_UP_EVENTS = 60_000
const EVENTS = 5_120
/** Few enough that most rounds have no garbage collection. */
const COUNTED_EVENTS = 2_560

interface Costs {
  readonly ns: number[]
  readonly bytes: number[]
}

interface Side extends Costs {
  readonly streams: Streams.EventStreams
}

async function main(): Promise<void> {
  const worlds = [await worldOf('.'), ...(values.base === undefined ? [] : [await worldOf(values.base)])]
  const names = Object.keys(KINDS).filter((name) => name.startsWith(values.only))
  const measured = names.map((name) => ({
    name,
    sides: worlds.map((world) => ({ streams: new world.EventStreams(KINDS[name] as Kind, STREAMS), ...newCosts() })),
  }))
  for (const { sides } of measured) for (const { streams } of sides) streams.relay(WARM_UP_EVENTS)
  // Kinds and checkouts in turns: other load of the machine affects all of them.
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const { sides } of measured) for (const side of sides) measure(side)
  }
  for (const { name, sides } of measured) console.log(`${name}: ${shown(sides)}`)
}

function worldOf(checkout: string): Promise<typeof Streams> {
  return import(join(resolve(checkout), '.tmp/bench/bench/support/event-streams.js')) as Promise<typeof Streams>
}

function newCosts(): Costs {
  return { ns: [], bytes: [] }
}

function measure({ streams, ns, bytes }: Side): void {
  const heapBefore = getHeapStatistics().used_heap_size
  streams.relay(COUNTED_EVENTS)
  const grown = getHeapStatistics().used_heap_size - heapBefore
  // It shrinks when a garbage collection falls between.
  if (grown > 0) bytes.push(grown / COUNTED_EVENTS)
  const before = process.cpuUsage()
  streams.relay(EVENTS)
  const { user, system } = process.cpuUsage(before)
  ns.push(((user + system) * 1000) / EVENTS)
}

/** The fastest quarter of the rounds: other load of the machine can only add to them. */
function fastest(ns: readonly number[]): number {
  const sorted = [...ns].sort((a, b) => a - b)
  return median(sorted.slice(0, Math.ceil(sorted.length / 4)))
}

function shown(sides: readonly Costs[]): string {
  const [here, base] = sides.map(({ ns, bytes }) => ({ ns: fastest(ns), bytes: median(bytes) }))
  if (here === undefined) return ''
  const figures = ({ ns, bytes }: { ns: number; bytes: number }): string => `${ns.toFixed(0)} ns, ${bytes.toFixed(0)} B`
  if (base === undefined) return figures(here)
  return `${figures(here)}; base ${figures(base)}; ${(here.ns / base.ns).toFixed(3)} × the time`
}

await main()
