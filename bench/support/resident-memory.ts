import { readFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { cpuUsOfTree } from '../../src/cli/bench/process-use.ts'

/**
 * Mebibytes of resident memory of each process of a gateway below `root`, by the folder of its `main.js`; `dist` is the supervisor.
 * Shared memory counts in each process.
 */
export function residentMbOfGateway(root: number): Map<string, number> {
  const resident = new Map<string, number>()
  for (const pid of cpuUsOfTree(root).keys()) {
    const main = read(pid, 'cmdline')
      .split('\0')
      .find((word) => word.endsWith('main.js'))
    if (main === undefined) continue
    const name = basename(dirname(main))
    const kb = Number(/^VmRSS:\s+(\d+) kB/m.exec(read(pid, 'status'))?.[1] ?? 0)
    resident.set(name, (resident.get(name) ?? 0) + kb / 1024)
  }
  return resident
}

/** Empty when the process has ended. */
function read(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return ''
  }
}
