import type { LeasedLimit } from './leased-limit.ts'
import type { LeaseBook } from './lease-book.ts'

/**
 * The slots of upstream keys, shared by the front processes of a machine: each front holds its even part of them while nobody
 * else needs it, and borrows from the others what they do not use. What the scheduler takes from.
 */
export class LeasedSlots {
  readonly #book: LeaseBook
  readonly #holdings = new Map<string, LeasedLimit>()
  readonly #keyIds = new Map<LeasedLimit, string>()
  readonly #wanted = new Set<string>()
  #listener: (keyId: string) => void = () => undefined

  constructor(book: LeaseBook) {
    this.#book = book
    book.onGranted((holding) => {
      const keyId = this.#keyIds.get(holding)
      if (keyId === undefined) return
      if (holding.free > 0) this.#listener(keyId)
      if (this.#wanted.has(keyId)) this.want(keyId)
    })
    book.onConnected(() => {
      for (const holding of this.#holdings.values()) askForShare(holding)
      for (const keyId of this.#wanted) this.want(keyId)
    })
  }

  /** The keys there are and their slots. Slots of keys that are gone go back as they become free. */
  declare(keys: ReadonlyArray<{ readonly id: string; readonly slots: number }>): void {
    const declared = new Set<string>()
    for (const { id, slots } of keys) {
      declared.add(id)
      const known = this.#holdings.get(id)
      const before = known?.limit
      const holding = this.#book.holding(`slot:${id}`, 'places', slots)
      if (known === holding && before === slots) continue
      if (known !== undefined && known !== holding) this.#keyIds.delete(known)
      holding.isPermanent = true
      if (before !== undefined && slots < before) holding.shrinkTo(Math.floor(slots / this.#book.processes))
      this.#holdings.set(id, holding)
      this.#keyIds.set(holding, id)
      // An ask that stands names the limit as it was: another one takes its place.
      if (holding.asking && this.#wanted.has(id)) holding.ask(1, 1, true)
      else holding.ask(0, slots, false)
    }
    for (const [id, holding] of this.#holdings) {
      if (declared.has(id)) continue
      holding.isPermanent = false
      holding.returnFree()
      this.#wanted.delete(id)
      if (holding.inUse > 0) continue
      this.#holdings.delete(id)
      this.#keyIds.delete(holding)
    }
  }

  /** Slots of the key that this process holds and nobody uses. */
  free(keyId: string): number {
    return this.#holdings.get(keyId)?.free ?? 0
  }

  /** Slots of the key that this process holds, used ones included. */
  held(keyId: string): number {
    return this.#holdings.get(keyId)?.held ?? 0
  }

  /** Takes a free one; false when there is none. */
  take(keyId: string): boolean {
    const holding = this.#holdings.get(keyId)
    if (holding === undefined || holding.free < 1) return false
    return holding.take(1, this.#book.clock.now()) === 'taken'
  }

  give(keyId: string): void {
    this.#holdings.get(keyId)?.give(this.#wanted.has(keyId))
  }

  /** Somebody waits for a slot of this key; the listener is told when one may have come. */
  want(keyId: string): void {
    const holding = this.#holdings.get(keyId)
    if (holding === undefined) return
    this.#wanted.add(keyId)
    if (!holding.asking && this.#book.connected) holding.ask(1, 1, true)
  }

  /** Nobody does any more. */
  unwant(keyId: string): void {
    if (!this.#wanted.delete(keyId)) return
    this.#holdings.get(keyId)?.cancelAsk()
  }

  /** The one listener. Called when slots of a key came from elsewhere, not by `give`. */
  onSupply(listener: (keyId: string) => void): void {
    this.#listener = listener
  }
}

function askForShare(holding: LeasedLimit): void {
  if (!holding.asking) holding.ask(0, holding.limit, false)
}
