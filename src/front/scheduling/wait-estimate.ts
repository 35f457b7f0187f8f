import type { KeyState } from './key-state.ts'

/**
 * When the key may have room, Unix milliseconds; `nowMs` where that depends on calls that are under way, Infinity where it
 * depends on a provider's recovery: nobody is made to wait for that.
 */
export function roomAtMs(key: KeyState, nowMs: number): number {
  if (!key.enabled || isOpen(key, nowMs)) return Infinity
  return Math.max(nowMs, key.coolingUntilMs)
}

/** When it makes sense to ask for the key again, Unix milliseconds; `nowMs` where nothing but calls are in the way. */
export function usableAtMs(key: KeyState, nowMs: number): number {
  if (!key.enabled) return Infinity
  return Math.max(nowMs, key.coolingUntilMs, key.breaker.openUntilMs, key.provider.breaker.openUntilMs)
}

function isOpen({ breaker, provider }: KeyState, nowMs: number): boolean {
  return breaker.state(nowMs) === 'open' || provider.breaker.state(nowMs) === 'open'
}
