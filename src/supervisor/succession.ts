import { readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isAlive, lockHolder, processIdentity } from '../shared/runtime/data-directory.ts'
import type { ProcessIdentity } from '../shared/runtime/data-directory.ts'

/** A gateway that is about to end, as it announced in its data directory. The next gateway may start beside it. */
export interface Leaving {
  /** Its fronts and the next control process understand each other only when both have the same version. */
  readonly version: string
  readonly port: number
  /** Unix socket between its fronts and the control process: its fronts look for the next control process there. */
  readonly socketPath: string
  /** The numbers of its fronts. */
  readonly indices: readonly number[]
}

/**
 * The state of the gateway that has the lock of the data directory. `waiting`: its control process waits for the control process of
 * the gateway before it to end. `serving`: its fronts listen.
 */
export type GatewayState = 'starting' | 'waiting' | 'serving'

const LEAVING = /^leaving-\d+$/
const GATEWAY = 'gateway'

/** Announces that this gateway is about to end, or updates this. Returns how to withdraw it. Call it before the lock is released. */
export function sayLeaving(dataDir: string, leaving: Leaving): () => void {
  const path = join(dataDir, `leaving-${process.pid}`)
  writeWhole(path, { ...processIdentity(), ...leaving })
  return () => {
    rmSync(path, { force: true })
  }
}

/** Returns the gateways of this data directory that are about to end and still run. Removes the announcements of those that have ended. */
export function findLeaving(dataDir: string): ReadonlyArray<Leaving & ProcessIdentity> {
  return namesIn(dataDir)
    .filter((name) => LEAVING.test(name))
    .flatMap((name) => {
      const path = join(dataDir, name)
      const note = readNote<Leaving>(path)
      if (note !== null) return [note]
      rmSync(path, { force: true })
      return []
    })
}

/** Returns the number of fronts of those gateways. */
export function leavingFronts(dataDir: string): number {
  return findLeaving(dataDir).flatMap(({ indices }) => indices).length
}

/** Writes the state of this gateway, which has the lock. */
export function sayState(dataDir: string, state: GatewayState): void {
  writeWhole(join(dataDir, GATEWAY), { ...processIdentity(), state })
}

/** Call it before the lock is released. */
export function forgetState(dataDir: string): void {
  rmSync(join(dataDir, GATEWAY), { force: true })
}

/** Returns the state of the gateway that has the lock; null when no gateway has it, as while a command works on the database. */
export async function findGateway(dataDir: string): Promise<GatewayState | null> {
  const holder = await lockHolder(dataDir)
  const note = readNote<{ readonly state: GatewayState }>(join(dataDir, GATEWAY))
  return holder !== null && note?.pid === holder ? note.state : null
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

/** Null when the note is missing, or when its process has ended. */
function readNote<Extra extends object>(path: string): (ProcessIdentity & Extra) | null {
  try {
    const note = JSON.parse(readFileSync(path, 'utf8')) as ProcessIdentity & Extra
    return isAlive(note) ? note : null
  } catch {
    return null
  }
}

/** Writes atomically: a reader never gets a part of the content. */
function writeWhole(path: string, content: object): void {
  const temporary = `${path}.new`
  writeFileSync(temporary, JSON.stringify(content), { mode: 0o600 })
  renameSync(temporary, path)
}
