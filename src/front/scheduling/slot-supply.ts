/** Where the slots of upstream keys come from. What this process holds of a key may change at any time. */
export interface SlotSupply {
  /** The keys there are and their slots; called with each snapshot. Slots in use stay in use. */
  declare(keys: ReadonlyArray<{ readonly id: string; readonly slots: number }>): void
  /** Slots of the key that this process holds and nobody uses. */
  free(keyId: string): number
  /** Slots of the key that this process holds, used ones included. */
  held(keyId: string): number
  /** Takes a free one; false when there is none. */
  take(keyId: string): boolean
  give(keyId: string): void
  /** Somebody waits for a slot of this key: `onSupply` is called when one may be free. Idempotent. */
  want(keyId: string): void
  /** Nobody waits for this key any more. Idempotent. */
  unwant(keyId: string): void
  /** The one listener. Called when slots of a key came from elsewhere, not by `give`. */
  onSupply(listener: (keyId: string) => void): void
}
