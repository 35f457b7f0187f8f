import { readFileSync, readdirSync } from 'node:fs'
import { basename, dirname } from 'node:path'

/** Clock ticks per second of /proc/<pid>/stat: USER_HZ, 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100

/** Microseconds of CPU that a process and all its descendants have used so far, by process id. */
export function cpuUsOfTree(root: number): Map<number, number> {
  const parents = new Map<number, number>()
  const used = new Map<number, number>()
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry)
    if (!Number.isInteger(pid)) continue
    const fields = statFields(pid)
    if (fields === null) continue
    parents.set(pid, Number(fields[1]))
    used.set(pid, ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1_000_000)
  }
  return new Map([...used].filter(([pid]) => isWithin(pid, root, parents)))
}

/** Seconds of CPU since the machine started: `busy` of all programs, `all` including idle time. */
export function machineUse(): { readonly busy: number; readonly all: number } {
  const [line = ''] = (read('/proc/stat') ?? '').split('\n', 1)
  const ticks = line.split(/ +/).slice(1, 9).map(Number)
  const all = ticks.reduce((sum, one) => sum + one, 0)
  const idle = (ticks[3] ?? 0) + (ticks[4] ?? 0)
  return { busy: (all - idle) / TICKS_PER_SECOND, all: all / TICKS_PER_SECOND }
}

/** Does `work`, and returns the share of the machine that programs not started by this process took meanwhile. */
export async function besideOthers<Result>(
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly elsewhere: number }> {
  const before = { ours: cpuUsOfTree(process.pid), machine: machineUse() }
  const result = await work()
  const machine = machineUse()
  const ours = [...cpuUsSince(process.pid, before.ours).values()].reduce((sum, us) => sum + us, 0) / 1_000_000
  const elsewhere = (machine.busy - before.machine.busy - ours) / (machine.all - before.machine.all)
  return { result, elsewhere: Math.max(0, elsewhere) }
}

/** Microseconds of CPU that a tree of processes has used since `before`, by the name of the program. */
export function cpuUsSince(root: number, before: ReadonlyMap<number, number>): Map<string, number> {
  const used = new Map<string, number>()
  for (const [pid, us] of cpuUsOfTree(root)) {
    const name = programOf(pid)
    used.set(name, (used.get(name) ?? 0) + us - (before.get(pid) ?? 0))
  }
  return used
}

/** The name of a program: of a Node script its file, of a `main.js` its folder, of any other program its executable. */
export function programOf(pid: number): string {
  const words = (read(`/proc/${pid}/cmdline`) ?? '').split('\0')
  const file = words.find((word) => word.endsWith('.js')) ?? words[0] ?? ''
  return basename(basename(file) === 'main.js' ? dirname(file) : file, '.js')
}

/** Mebibytes of memory of a tree of processes; shared memory counts once. */
export function memoryMbOfTree(root: number): number {
  return [...cpuUsOfTree(root).keys()].reduce((sum, pid) => sum + memoryMbOf(pid), 0)
}

/** Mebibytes of memory of a process; memory that processes share counts in parts. */
export function memoryMbOf(pid: number): number {
  const rollup = read(`/proc/${pid}/smaps_rollup`) ?? ''
  return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1] ?? 0) / 1024
}

function isWithin(pid: number, root: number, parents: ReadonlyMap<number, number>): boolean {
  for (let at: number | undefined = pid; at !== undefined && at > 0; at = parents.get(at)) if (at === root) return true
  return false
}

/** The fields of `/proc/<pid>/stat` after the name, which may contain spaces. */
function statFields(pid: number): string[] | null {
  const stat = read(`/proc/${pid}/stat`)
  return stat === null ? null : stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}
