import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { chmod, link, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Tells a process from a later one with the same pid. Members are null where the system has no /proc. */
export interface ProcessIdentity {
  readonly pid: number
  /** Start of the process in clock ticks since boot. */
  readonly startTicks: string | null
  readonly bootId: string | null
}

export interface DataDirectoryLock {
  /** Removes the lock, once: a later call must not remove the lock of another process. */
  release(): Promise<void>
}

/** A live process holds the lock of the directory. */
export class DirectoryInUseError extends Error {
  readonly pid: number

  constructor(directory: string, pid: number) {
    super(`data directory ${directory} is in use by process ${pid}; stop it or choose another directory`)
    this.pid = pid
  }
}

/** The identity of a running process; `startTicks` is null when no process has this pid. */
export function processIdentity(pid: number = process.pid): ProcessIdentity {
  return { pid, startTicks: readStat(pid)?.startTicks ?? null, bootId: readBootId() }
}

/** False when the process has ended, also when another process has its pid or the machine was restarted. */
export function isAlive(identity: ProcessIdentity): boolean {
  const bootId = readBootId()
  if (bootId === null || identity.startTicks === null) return answersSignals(identity.pid)
  if (identity.bootId !== null && identity.bootId !== bootId) return false
  const stat = readStat(identity.pid)
  // A zombie has ended: it only waits for its parent to notice.
  return stat !== null && stat.startTicks === identity.startTicks && stat.state !== 'Z' && stat.state !== 'X'
}

/**
 * Makes the directory (0700) and takes its lock. Rejects with DirectoryInUseError, in one line that names its holder. Takes over
 * a lock whose process has ended. A process in another pid namespace cannot be seen: two containers must not share a directory.
 *
 * Locks are numbered files, and the highest number counts. The lock of a dead process is not removed first, since two processes
 * could do that one after the other: of those that saw `lock-7` dead, only one can make `lock-8`.
 */
export async function lockDataDirectory(directory: string): Promise<DataDirectoryLock> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await chmod(directory, 0o700)
  const ours = join(directory, `.lock-${process.pid}-${randomBytes(4).toString('hex')}`)
  await writeFile(ours, JSON.stringify(processIdentity()), { mode: 0o600 })
  try {
    for (;;) {
      const highest = await highestLock(directory)
      await refuseLiveHolder(directory, highest)
      const next = highest + 1
      if (!(await linked(ours, lockPath(directory, next)))) continue
      // The holder of a lock removes lower numbers, so that `next` may be a number of the past.
      const winner = await highestLock(directory)
      if (winner === next) {
        await removeLocksBelow(directory, next)
        let released: Promise<void> | null = null
        return { release: () => (released ??= rm(lockPath(directory, next), { force: true })) }
      }
      await rm(lockPath(directory, next), { force: true })
    }
  } finally {
    await rm(ours, { force: true })
  }
}

/** The directory of the control process. The holder of its own lock owns the embedded database. */
export function controlDirectory(dataDir: string): string {
  return join(dataDir, 'control')
}

/** The pid of the process that holds the directory; null when none does, or when the directory does not exist. */
export async function lockHolder(directory: string): Promise<number | null> {
  const highest = await highestLock(directory).catch(() => 0)
  const holder = await liveHolder(directory, highest)
  return holder?.pid ?? null
}

function lockPath(directory: string, number: number): string {
  return join(directory, `lock-${number}`)
}

/** 0 when there is no lock. */
async function highestLock(directory: string): Promise<number> {
  return Math.max(0, ...(await lockNumbers(directory)))
}

async function lockNumbers(directory: string): Promise<number[]> {
  const names = await readdir(directory)
  return names.flatMap((name) => (/^lock-\d{1,15}$/.test(name) ? [Number(name.slice(5))] : []))
}

async function removeLocksBelow(directory: string, number: number): Promise<void> {
  for (const other of await lockNumbers(directory)) {
    if (other < number) await rm(lockPath(directory, other), { force: true })
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

async function refuseLiveHolder(directory: string, number: number): Promise<void> {
  const holder = await liveHolder(directory, number)
  if (holder !== null) throw new DirectoryInUseError(directory, holder.pid)
}

async function liveHolder(directory: string, number: number): Promise<ProcessIdentity | null> {
  const content = await readIfPresent(lockPath(directory, number))
  const holder = content === null ? null : parseIdentity(content)
  return holder !== null && isAlive(holder) ? holder : null
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
