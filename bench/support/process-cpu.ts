import { readFileSync, readdirSync } from 'node:fs'

/** Clock ticks per second of /proc/<pid>/stat: USER_HZ, 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100

/** Microseconds of CPU that a process and all its descendants have used so far. */
export function cpuUsOfTree(root: number): number {
  const parents = new Map<number, number>()
  const ticks = new Map<number, number>()
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry)
    if (!Number.isInteger(pid)) continue
    const fields = statFields(pid)
    if (fields === null) continue
    parents.set(pid, Number(fields[1]))
    ticks.set(pid, Number(fields[11]) + Number(fields[12]))
  }
  let sum = 0
  for (const [pid, used] of ticks) if (isWithin(pid, root, parents)) sum += used
  return (sum / TICKS_PER_SECOND) * 1_000_000
}

function isWithin(pid: number, root: number, parents: ReadonlyMap<number, number>): boolean {
  for (let at: number | undefined = pid; at !== undefined && at > 0; at = parents.get(at)) if (at === root) return true
  return false
}

/** The fields behind the name, which may hold spaces itself. */
function statFields(pid: number): string[] | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return null
  }
}
