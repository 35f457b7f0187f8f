import type { SlotSupply } from '../../src/front/scheduling/slot-supply.ts'

/** Slots whose number a test sets, like leased slots of other processes. */
export class LentSlots implements SlotSupply {
  readonly wanted = new Set<string>()
  readonly #held = new Map<string, number>()
  readonly #used = new Map<string, number>()
  #listener: (keyId: string) => void = () => undefined

  /** Sets the slots of this process; slots in use stay. */
  hold(keyId: string, slots: number): void {
    const before = this.held(keyId)
    this.#held.set(keyId, slots)
    if (slots > before) this.#listener(keyId)
  }

  declare(): void {
    // The test sets the slots with `hold`.
  }

  free(keyId: string): number {
    return Math.max(0, this.held(keyId) - this.used(keyId))
  }

  held(keyId: string): number {
    return this.#held.get(keyId) ?? 0
  }

  used(keyId: string): number {
    return this.#used.get(keyId) ?? 0
  }

  take(keyId: string): boolean {
    if (this.free(keyId) < 1) return false
    this.#used.set(keyId, this.used(keyId) + 1)
    return true
  }

  give(keyId: string): void {
    if (this.used(keyId) < 1) throw new Error(`a slot of ${keyId} that nobody took is given back`)
    this.#used.set(keyId, this.used(keyId) - 1)
    if (this.wanted.has(keyId) && this.free(keyId) > 0) this.#listener(keyId)
  }

  want(keyId: string): void {
    this.wanted.add(keyId)
  }

  unwant(keyId: string): void {
    this.wanted.delete(keyId)
  }

  onSupply(listener: (keyId: string) => void): void {
    this.#listener = listener
  }
}
