import { load } from '../support/load-client.ts'
import type { LoadOptions, LoadResult } from '../support/load-client.ts'
import { steadyLoad } from '../support/steady-load.ts'
import type { SteadyOptions } from '../support/steady-load.ts'
import { cpuUsOfTree, cpuUsSince, memoryMbOfTree } from '../../src/cli/bench/process-use.ts'
import type { Program } from '../../src/cli/bench/programs.ts'

export interface Relayed {
  readonly result: LoadResult
  /** µs of CPU of each process of the target, until the last request was settled. */
  readonly cpuUs: ReadonlyMap<string, number>
  /** Memory at the end of the load. */
  readonly memoryMb: number
}

/** A new process compiles its code during the first 100 000 requests or so: only a warm process is measured. */
const FIRST_WARM_UP_SECONDS = 8
const WARM_UP_SECONDS = 2
const warm = new WeakSet<Program>()

/** Loads a program and measures the cost. The count begins when all earlier requests are settled. */
export async function relay(program: Program, options: LoadOptions): Promise<Relayed> {
  const seconds = warm.has(program) ? WARM_UP_SECONDS : FIRST_WARM_UP_SECONDS
  warm.add(program)
  const warmUp = await load(program, { ...options, seconds })
  await program.settled(warmUp.lastRequestId)
  const before = cpuUsOfTree(program.pid)
  const result = await load(program, options)
  const memoryMb = memoryMbOfTree(program.pid)
  await program.settled(result.lastRequestId)
  return { result, cpuUs: cpuUsSince(program.pid, before), memoryMb }
}

/** Loads a program at a fixed rate, for latencies; does not count CPU. */
export async function relaySteadily(program: Program, options: SteadyOptions): Promise<Relayed> {
  if (!warm.has(program)) {
    warm.add(program)
    await load(program, { body: options.body, connections: 64, seconds: FIRST_WARM_UP_SECONDS, spreadMs: 0 })
  }
  await steadyLoad(program, { ...options, seconds: 1 })
  const result = await steadyLoad(program, options)
  return { result, cpuUs: new Map(), memoryMb: memoryMbOfTree(program.pid) }
}
