import { setTimeout as elapsed } from 'node:timers/promises'
import type { EndReason } from './messages.ts'
import { findGateway, findLeaving } from './succession.ts'
import type { GatewayState, Leaving } from './succession.ts'

const LOOK_EVERY_MS = 20

export interface LeaveOptions {
  readonly dataDir: string
  /** How long another gateway may take to appear. */
  readonly announceMs: number
  /** A gateway that has appeared may take this much longer than `announceMs` to serve. */
  readonly patienceMs: number
  /** Called when another gateway needs this control process to end. May be called again. */
  readonly onControlNeeded: () => void
}

/**
 * Waits for another gateway to lock the data directory and serve, after this one has released the lock. The fronts of this gateway
 * serve until then. Looks for a late gateway until `stop` is called.
 */
export class HandOver {
  readonly #options: LeaveOptions
  readonly #watch = new AbortController()
  #isTaken = false

  constructor(options: LeaveOptions) {
    this.#options = options
  }

  /** Another gateway has the data directory, or had it. */
  get isTaken(): boolean {
    return this.#isTaken
  }

  async wait(): Promise<EndReason> {
    const { announceMs, patienceMs } = this.#options
    const announcedMs = Date.now() + announceMs
    const lastMs = announcedMs + patienceMs
    for (;;) {
      const successor = await this.#look()
      if (successor === 'serving') return 'hand-over'
      const untilMs = successor === null ? announcedMs : lastMs
      if (Date.now() >= untilMs) break
      await elapsed(LOOK_EVERY_MS)
    }
    void this.#lookOn()
    return this.#isTaken ? 'hand-over' : 'stop'
  }

  stop(): void {
    this.#watch.abort()
  }

  async #lookOn(): Promise<void> {
    let successor: GatewayState | null = null
    while (!this.#watch.signal.aborted && successor !== 'serving') {
      await elapsed(LOOK_EVERY_MS)
      successor = await this.#look()
    }
  }

  async #look(): Promise<GatewayState | null> {
    // No gateway can take over a directory that cannot be read.
    const successor = await findGateway(this.#options.dataDir).catch(() => null)
    if (successor !== null) this.#isTaken = true
    if (successor === 'waiting' || successor === 'serving') this.#options.onControlNeeded()
    return successor
  }
}

/**
 * Returns the gateways on this data directory that are about to end and hand over. Waits until those of another version have ended:
 * their fronts and the new control process may not understand each other. Rejects when one of them has not ended within
 * `patienceMs`.
 */
export async function predecessors(dataDir: string, version: string, patienceMs: number): Promise<readonly Leaving[]> {
  const endMs = Date.now() + patienceMs
  for (;;) {
    const leaving = findLeaving(dataDir)
    const other = leaving.find((one) => one.version !== version)
    if (other === undefined) return leaving
    if (Date.now() >= endMs) {
      throw new Error(`the gateway of version ${other.version} in process ${other.pid} does not end; stop it`)
    }
    await elapsed(LOOK_EVERY_MS)
  }
}

/** Returns the `count` lowest numbers that no front of another gateway has. */
export function freeIndices(count: number, leaving: readonly Leaving[]): readonly number[] {
  const taken = new Set(leaving.flatMap(({ indices }) => indices))
  return Array.from({ length: count + taken.size }, (_, index) => index)
    .filter((index) => !taken.has(index))
    .slice(0, count)
}
