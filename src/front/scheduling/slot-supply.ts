/** Supplies the slots of upstream keys. The number that this process holds of a key may change at any time. */
export interface SlotSupply {
  /** Sets the keys and their slots; called with each snapshot. Slots in use stay in use. */
  declare(keys: ReadonlyArray<{ readonly id: string; readonly slots: number }>): void
  /** Slots of the key that this process holds and no call uses. */
  free(keyId: string): number
  /** Slots of the key that this process holds, used ones included. */
  held(keyId: string): number
  /** Takes a free slot; false when there is none. */
  take(keyId: string): boolean
  give(keyId: string): void
  /** A request waits for a slot of this key: the supply calls `onSupply` when one may be free. Idempotent. */
  want(keyId: string): void
  /** No request waits for this key any more. Idempotent. */
  unwant(keyId: string): void
  /** Sets the only listener. It is called when slots of a key came from another process, not from `give`. */
  onSupply(listener: (keyId: string) => void): void
}
