import type { KeyState } from './key-state.ts'

/**
 * When the key may have a free slot, Unix milliseconds. `nowMs` when that depends on calls in flight. Infinity when it depends
 * on the recovery of the provider: no request waits for that.
 */
export function roomAtMs(key: KeyState, nowMs: number): number {
  if (!key.enabled || isOpen(key, nowMs)) return Infinity
  return Math.max(nowMs, key.coolingUntilMs)
}

/** When the cool-down or open breaker of the key ends, Unix milliseconds; `nowMs` when only calls in flight block it. */
export function usableAtMs(key: KeyState, nowMs: number): number {
  if (!key.enabled) return Infinity
  return Math.max(nowMs, key.coolingUntilMs, key.breaker.openUntilMs, key.provider.breaker.openUntilMs)
}

function isOpen({ breaker, provider }: KeyState, nowMs: number): boolean {
  return breaker.state(nowMs) === 'open' || provider.breaker.state(nowMs) === 'open'
}
