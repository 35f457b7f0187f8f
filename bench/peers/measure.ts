import { setTimeout as elapsed } from 'node:timers/promises'
import { cpuUsOfTree, memoryMbOfTree } from '../../src/cli/bench/process-use.ts'
import { load } from '../support/load-client.ts'
import type { LoadOptions, LoadResult, LoadTarget } from '../support/load-client.ts'
import type { Peer } from './peer.ts'

export interface Loaded {
  readonly result: LoadResult
  /** µs of CPU of all processes of the program, until its last request was settled. */
  readonly cpuUs: number
}

const POLL_MS = 100
/** A program that takes less of a core than this is quiet. */
const QUIET_SHARE = 0.1
const QUIET_DEADLINE_MS = 120_000

/** Loads a program and counts its CPU. Resolves when it is quiet again, so that its late work does not disturb the next program. */
export async function loaded(peer: Peer, options: LoadOptions, target: LoadTarget = peer): Promise<Loaded> {
  const before = cpuUsOf(peer)
  const result = await load(target, options)
  await peer.settled(result.lastRequestId)
  const cpuUs = cpuSince(peer, before)
  await quiet(peer)
  return { result, cpuUs }
}

/** Mebibytes of all processes of a program. */
export function memoryMbOf(peer: Peer): number {
  return peer.pids.reduce((sum, pid) => sum + memoryMbOfTree(pid), 0)
}

function cpuUsOf(peer: Peer): Map<number, number> {
  return new Map(peer.pids.flatMap((pid) => [...cpuUsOfTree(pid)]))
}

function cpuSince(peer: Peer, before: ReadonlyMap<number, number>): number {
  return [...cpuUsOf(peer)].reduce((sum, [pid, us]) => sum + us - (before.get(pid) ?? 0), 0)
}

/** Waits until a program takes little CPU, at most `QUIET_DEADLINE_MS`. */
async function quiet(peer: Peer): Promise<void> {
  const endMs = performance.now() + QUIET_DEADLINE_MS
  while (performance.now() < endMs) {
    const before = cpuUsOf(peer)
    const sinceMs = performance.now()
    await elapsed(POLL_MS)
    if (cpuSince(peer, before) / 1000 < (performance.now() - sinceMs) * QUIET_SHARE) return
  }
}
