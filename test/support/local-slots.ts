import type { SlotSupply } from '../../src/front/scheduling/slot-supply.ts'

interface KeySlots {
  held: number
  used: number
}

/** Gives each process an equal, fixed share of every key's slots, at least one. */
export class LocalSlots implements SlotSupply {
  readonly #processes: number
  readonly #keys = new Map<string, KeySlots>()
  #listener: (keyId: string) => void = () => undefined

  constructor(processes: number) {
    this.#processes = processes
  }

  declare(keys: ReadonlyArray<{ readonly id: string; readonly slots: number }>): void {
    const declared = new Map(keys.map(({ id, slots }) => [id, Math.max(1, Math.floor(slots / this.#processes))]))
    for (const [id, state] of this.#keys) {
      state.held = declared.get(id) ?? 0
      if (state.held === 0 && state.used === 0) this.#keys.delete(id)
    }
    for (const [id, held] of declared) {
      const state = this.#keys.get(id)
      if (state === undefined) this.#keys.set(id, { held, used: 0 })
      this.#listener(id)
    }
  }

  free(keyId: string): number {
    const state = this.#keys.get(keyId)
    return state === undefined ? 0 : Math.max(0, state.held - state.used)
  }

  held(keyId: string): number {
    return this.#keys.get(keyId)?.held ?? 0
  }

  take(keyId: string): boolean {
    const state = this.#keys.get(keyId)
    if (state === undefined || state.used >= state.held) return false
    state.used += 1
    return true
  }

  give(keyId: string): void {
    const state = this.#keys.get(keyId)
    if (state === undefined) return
    state.used -= 1
    if (state.held === 0 && state.used === 0) this.#keys.delete(keyId)
  }

  want(): void {
    // The share is fixed: slots come back only by `give`.
  }

  unwant(): void {
    // See `want`.
  }

  onSupply(listener: (keyId: string) => void): void {
    this.#listener = listener
  }
}
