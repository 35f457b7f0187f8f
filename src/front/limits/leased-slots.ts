import type { LeaseBook } from './lease-book.ts'
import type { LeasedConcurrency } from './leased-concurrency.ts'
import type { LeasedLimit } from './leased-limit.ts'

/**
 * The slots of upstream keys, shared by the front processes of a machine: each front holds its even part of them while nobody
 * else needs it, and borrows from the others what they do not use. What the scheduler takes from.
 */
export class LeasedSlots {
  readonly #book: LeaseBook
  readonly #leases = new Map<string, LeasedConcurrency>()
  readonly #keyIds = new Map<LeasedLimit, string>()
  readonly #wanted = new Set<string>()
  #listener: (keyId: string) => void = () => undefined

  constructor(book: LeaseBook) {
    this.#book = book
    book.onGranted((lease) => {
      const keyId = this.#keyIds.get(lease)
      if (keyId === undefined) return
      if (lease.free > 0) this.#listener(keyId)
      if (this.#wanted.has(keyId)) this.want(keyId)
    })
    book.onConnected(() => {
      for (const lease of this.#leases.values()) askForShare(lease)
      for (const keyId of this.#wanted) this.want(keyId)
    })
  }

  /** The keys there are and their slots. Slots of keys that are gone go back as they become free. */
  declare(keys: ReadonlyArray<{ readonly id: string; readonly slots: number }>): void {
    const declared = new Set<string>()
    for (const { id, slots } of keys) {
      declared.add(id)
      const known = this.#leases.get(id)
      const before = known?.limit
      const lease = this.#book.lease(`slot:${id}`, 'concurrency', slots)
      if (known === lease && before === slots) continue
      if (known !== undefined && known !== lease) this.#keyIds.delete(known)
      lease.permanent = true
      if (before !== undefined && slots < before) lease.shrinkTo(Math.floor(slots / this.#book.processes))
      this.#leases.set(id, lease)
      this.#keyIds.set(lease, id)
      // An ask that stands names the limit as it was: another one takes its place.
      if (lease.asking && this.#wanted.has(id)) lease.ask(1, 1, true)
      else lease.ask(0, slots, false)
    }
    for (const [id, lease] of this.#leases) {
      if (declared.has(id)) continue
      lease.permanent = false
      lease.returnFree()
      this.#wanted.delete(id)
      if (lease.inUse > 0) continue
      this.#leases.delete(id)
      this.#keyIds.delete(lease)
    }
  }

  /** Slots of the key that this process holds and nobody uses. */
  free(keyId: string): number {
    return this.#leases.get(keyId)?.free ?? 0
  }

  /** Slots of the key that this process holds, used ones included. */
  held(keyId: string): number {
    return this.#leases.get(keyId)?.held ?? 0
  }

  /** Takes a free one; false when there is none. */
  take(keyId: string): boolean {
    const lease = this.#leases.get(keyId)
    if (lease === undefined || lease.free < 1) return false
    return lease.take(1, this.#book.clock.now()) === 'taken'
  }

  give(keyId: string): void {
    this.#leases.get(keyId)?.give(this.#wanted.has(keyId))
  }

  /** Somebody waits for a slot of this key; the listener is told when one may have come. */
  want(keyId: string): void {
    const lease = this.#leases.get(keyId)
    if (lease === undefined) return
    this.#wanted.add(keyId)
    if (!lease.asking && this.#book.connected) lease.ask(1, 1, true)
  }

  /** Nobody does any more. */
  unwant(keyId: string): void {
    if (!this.#wanted.delete(keyId)) return
    this.#leases.get(keyId)?.cancelAsk()
  }

  /** The one listener. Called when slots of a key came from elsewhere, not by `give`. */
  onSupply(listener: (keyId: string) => void): void {
    this.#listener = listener
  }
}

function askForShare(lease: LeasedConcurrency): void {
  if (!lease.asking) lease.ask(0, lease.limit, false)
}
