import { readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isAlive, lockHolder, processIdentity } from '../shared/runtime/data-directory.ts'
import type { ProcessIdentity } from '../shared/runtime/data-directory.ts'

/** A gateway that is about to end, as it says in its data directory: the next one may begin beside it. */
export interface Leaving {
  /** Its fronts and the next control process understand each other when it is the same. */
  readonly version: string
  readonly port: number
  /** Unix socket between its fronts and the control process: its fronts look for the next control process there. */
  readonly socketPath: string
  /** Of its fronts. */
  readonly indices: readonly number[]
}

/**
 * How far a gateway is that has the lock of its data directory. `waiting`: its control process needs that of the gateway before to
 * end. `serving`: its fronts listen.
 */
export type GatewayState = 'starting' | 'waiting' | 'serving'

const LEAVING = /^leaving-\d+$/
const GATEWAY = 'gateway'

/** Says, or says anew, that this gateway is about to end; returns how to take it back. To be called before the lock is given up. */
export function sayLeaving(dataDir: string, leaving: Leaving): () => void {
  const path = join(dataDir, `leaving-${process.pid}`)
  writeWhole(path, { ...processIdentity(), ...leaving })
  return () => {
    rmSync(path, { force: true })
  }
}

/** The gateways of this data directory that are about to end and have not ended. What others have left of such notes is removed. */
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

/** How many fronts those gateways have. */
export function leavingFronts(dataDir: string): number {
  return findLeaving(dataDir).flatMap(({ indices }) => indices).length
}

/** Says what this gateway, which has the lock, is about. */
export function sayState(dataDir: string, state: GatewayState): void {
  writeWhole(join(dataDir, GATEWAY), { ...processIdentity(), state })
}

/** To be called before the lock is given up. */
export function forgetState(dataDir: string): void {
  rmSync(join(dataDir, GATEWAY), { force: true })
}

/** The state of the gateway that has the lock; null when none has, as when a command works on the database. */
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

/** Null when there is none, or its process has ended. */
function readNote<Extra extends object>(path: string): (ProcessIdentity & Extra) | null {
  try {
    const note = JSON.parse(readFileSync(path, 'utf8')) as ProcessIdentity & Extra
    return isAlive(note) ? note : null
  } catch {
    return null
  }
}

/** Whoever reads it reads all of it, or nothing. */
function writeWhole(path: string, content: object): void {
  const temporary = `${path}.new`
  writeFileSync(temporary, JSON.stringify(content), { mode: 0o600 })
  renameSync(temporary, path)
}
