import { readFileSync, readdirSync } from 'node:fs'
import { cpuUsOfTree, memoryMbOf, programOf } from '../../src/cli/bench/process-use.ts'

/** The use of a process in a period without requests. */
export interface RestUse {
  readonly name: string
  /** Wakes per second of the thread with the event loop. */
  readonly loopWakes: number
  /** Wakes per second of all threads. */
  readonly wakes: number
  /** Milliseconds of CPU per second. */
  readonly cpuMs: number
  /** Pages of libraries that are in memory count in each process. */
  readonly residentMb: number
  /** What processes share counts in parts: the sum is what the gateway takes. */
  readonly memoryMb: number
}

interface Counters {
  readonly switches: ReadonlyMap<number, number>
  readonly cpuNs: number
}

/**
 * Counts the wakes and the CPU of each process of a tree while `work` runs. A wake is a voluntary context switch: the thread had
 * gone to sleep before.
 */
export async function restUse(root: number, work: () => Promise<void>): Promise<RestUse[]> {
  const pids = [...cpuUsOfTree(root).keys()]
  const startedMs = performance.now()
  const before = new Map(pids.map((pid) => [pid, countersOf(pid)]))
  await work()
  const seconds = (performance.now() - startedMs) / 1000
  return pids.map((pid) => {
    const old = before.get(pid) ?? { switches: new Map<number, number>(), cpuNs: 0 }
    const now = countersOf(pid)
    const wakesOf = (thread: number): number => (now.switches.get(thread) ?? 0) - (old.switches.get(thread) ?? 0)
    const wakes = [...now.switches.keys()].reduce((sum, thread) => sum + wakesOf(thread), 0)
    return {
      name: pid === root ? 'supervisor' : programOf(pid),
      loopWakes: wakesOf(pid) / seconds,
      wakes: wakes / seconds,
      cpuMs: (now.cpuNs - old.cpuNs) / 1_000_000 / seconds,
      residentMb: residentMbOf(pid),
      memoryMb: memoryMbOf(pid),
    }
  })
}

/** Of threads that live: those of one that ends in between are missing. */
function countersOf(pid: number): Counters {
  const switches = new Map<number, number>()
  let cpuNs = 0
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const task = `/proc/${pid}/task/${thread}`
    switches.set(Number(thread), Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(read(`${task}/status`))?.[1] ?? 0))
    cpuNs += Number(read(`${task}/schedstat`).split(' ', 1)[0])
  }
  return { switches, cpuNs }
}

function residentMbOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) / 1024
}

function read(path: string): string {
  return readFileSync(path, 'utf8')
}
