import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { chmod, link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** A process such that another one with the same number is told from it. Null where the system has no /proc. */
export interface ProcessIdentity {
  readonly pid: number
  /** Start of the process in clock ticks since boot. */
  readonly startTicks: string | null
  readonly bootId: string | null
}

export interface DataDirectoryLock {
  release(): Promise<void>
}

/** The identity of a running process; its `startTicks` are null when there is none of that number. */
export function processIdentity(pid: number = process.pid): ProcessIdentity {
  return { pid, startTicks: readStat(pid)?.startTicks ?? null, bootId: readBootId() }
}

/** False once the process has ended, also when its number was given to another or the machine was started anew. */
export function isAlive(identity: ProcessIdentity): boolean {
  const bootId = readBootId()
  if (bootId === null || identity.startTicks === null) return answersSignals(identity.pid)
  if (identity.bootId !== null && identity.bootId !== bootId) return false
  const stat = readStat(identity.pid)
  // A zombie has ended: it only waits for its parent to notice.
  return stat !== null && stat.startTicks === identity.startTicks && stat.state !== 'Z' && stat.state !== 'X'
}

/**
 * Makes the directory (0700) and takes its lock. Rejects with one line that names the process holding it. A lock whose
 * process is gone is taken over. Processes in other pid namespaces cannot be seen: two containers must not share one.
 */
export async function lockDataDirectory(directory: string): Promise<DataDirectoryLock> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await chmod(directory, 0o700)
  const path = join(directory, 'lock')
  const ours = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
  const content = JSON.stringify(processIdentity())
  await writeFile(ours, content, { mode: 0o600 })
  try {
    for (let attempt = 0; attempt < 10; attempt++) {
      if (await linked(ours, path)) return { release: () => releaseLock(path, content) }
      await removeStaleLock(directory, path)
    }
    throw new Error(`data directory ${directory}: the lock changes hands too often`)
  } finally {
    await rm(ours, { force: true })
  }
}

/** A hard link appears with its whole content, and only where nothing is: no reader sees half a lock. */
async function linked(ours: string, path: string): Promise<boolean> {
  try {
    await link(ours, path)
    return true
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw cause
  }
}

async function removeStaleLock(directory: string, path: string): Promise<void> {
  const content = await readIfPresent(path)
  if (content === null) return
  refuseLiveHolder(directory, content)
  // Renamed first and looked at again: between reading and removing another process may have taken the lock over.
  const aside = `${path}.stale.${process.pid}.${randomBytes(4).toString('hex')}`
  try {
    await rename(path, aside)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return
    throw cause
  }
  try {
    if ((await readFile(aside, 'utf8')) !== content) await linked(aside, path)
  } finally {
    await rm(aside, { force: true })
  }
}

function refuseLiveHolder(directory: string, content: string): void {
  const holder = parseIdentity(content)
  if (holder !== null && isAlive(holder)) {
    throw new Error(
      `data directory ${directory} is in use by process ${holder.pid}; stop it or choose another directory`,
    )
  }
}

async function releaseLock(path: string, content: string): Promise<void> {
  if ((await readIfPresent(path)) === content) await rm(path, { force: true })
}

async function readIfPresent(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw cause
  }
}

function parseIdentity(content: string): ProcessIdentity | null {
  try {
    const { pid, startTicks, bootId } = JSON.parse(content) as Record<string, unknown>
    if (typeof pid !== 'number') return null
    return {
      pid,
      startTicks: typeof startTicks === 'string' ? startTicks : null,
      bootId: typeof bootId === 'string' ? bootId : null,
    }
  } catch {
    return null
  }
}

function readBootId(): string | null {
  return readText('/proc/sys/kernel/random/boot_id')?.trim() ?? null
}

function readStat(pid: number): { state: string; startTicks: string } | null {
  const stat = readText(`/proc/${pid}/stat`)
  if (stat === null) return null
  // The second field is the name in parentheses and may hold spaces and parentheses itself.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, startTicks] = [fields[0], fields[19]]
  return state === undefined || startTicks === undefined ? null : { state, startTicks }
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}

function answersSignals(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === 'EPERM'
  }
}
