import type { Deadline } from '../../shared/runtime/deadlines.ts'
import type { Candidate } from './catalog.ts'
import type { KeyState } from './key-state.ts'

/** A request that waits for one of several keys. */
export interface Waiter {
  readonly tenant: string
  readonly candidates: ReadonlyMap<KeyState, Candidate>
  readonly deadline: Deadline
}

/**
 * The waiting requests by tenant. A key with a free slot serves the next tenant in turn, and of that tenant the request that
 * has waited longest among those it can serve.
 * ```
 *   turn ──►  tenant a: [1, 4, 5]   tenant b: [2]   tenant c: [3, 6]
 *             takes 1, and a goes to the end of the round
 * ```
 */
export class WaitQueue<Item extends Waiter> {
  /** Sorted by the order of turns. */
  readonly #tenants = new Map<string, Item[]>()
  #size = 0

  get size(): number {
    return this.#size
  }

  add(waiter: Item): void {
    const mine = this.#tenants.get(waiter.tenant)
    if (mine === undefined) this.#tenants.set(waiter.tenant, [waiter])
    else mine.push(waiter)
    this.#size += 1
    for (const key of waiter.candidates.keys()) key.waiting += 1
  }

  /** Returns false when the request does not wait any more. */
  remove(waiter: Item): boolean {
    const mine = this.#tenants.get(waiter.tenant)
    const index = mine?.indexOf(waiter) ?? -1
    if (mine === undefined || index < 0) return false
    mine.splice(index, 1)
    if (mine.length === 0) this.#tenants.delete(waiter.tenant)
    this.#size -= 1
    for (const key of waiter.candidates.keys()) key.waiting -= 1
    return true
  }

  /** Removes and returns the request whose turn it is, among those that the key can serve. */
  next(key: KeyState): Item | null {
    if (key.waiting === 0) return null
    for (const [tenant, waiters] of this.#tenants) {
      const waiter = waiters.find(({ candidates }) => candidates.has(key))
      if (waiter === undefined) continue
      this.remove(waiter)
      if (this.#tenants.delete(tenant)) this.#tenants.set(tenant, waiters)
      return waiter
    }
    return null
  }

  /** The newest request of the tenant with most waiting, if that tenant has more than `tenant` would have with one more. */
  newestOfLargest(tenant: string): Item | null {
    let largest: readonly Item[] = []
    for (const waiters of this.#tenants.values()) if (waiters.length > largest.length) largest = waiters
    const mine = this.#tenants.get(tenant)?.length ?? 0
    return largest.length > mine + 1 ? (largest[largest.length - 1] ?? null) : null
  }

  /** A copy of all waiting requests. */
  all(): Item[] {
    return [...this.#tenants.values()].flat()
  }
}
