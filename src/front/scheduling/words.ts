import type { KeyHealthEvent } from '../../shared/core/key-health-event.ts'
import type { Capacity } from './key-registry.ts'
import type { KeyState } from './key-state.ts'

/**
 * Describes for clients why a model has no slot; null when its keys are only busy. Reveals nothing about the operator's
 * accounts.
 */
export function describeNoRoom(keys: readonly KeyState[], nowMs: number): string | null {
  if (keys.length === 0) return null
  if (keys.every((key) => key.unauthorised || !key.enabled)) {
    return 'No upstream key of this model is usable at the moment.'
  }
  if (keys.every((key) => isOut(key, nowMs))) return 'The upstreams of this model are failing at the moment.'
  if (keys.every((key) => isOut(key, nowMs) || key.coolingUntilMs > nowMs)) {
    return 'The upstreams of this model are rate limiting at the moment.'
  }
  return null
}

/** Describes for operators how many upstream keys are not usable, and why; null when all are usable. */
export function describeKeyPool({ keys, availableKeys, unusable }: Capacity): string | null {
  if (keys === 0) return 'no upstream key is enabled'
  if (availableKeys === keys) return null
  const causes = [
    ['credential refused by the provider', unusable.disabled],
    ['calls fail', unusable.breaker],
    ['rate limited', unusable.cooling],
  ] as const
  const counts = causes.filter(([, count]) => count > 0).map(([cause, count]) => `${cause}: ${count}`)
  const head =
    availableKeys === 0
      ? 'no upstream key is usable'
      : `${keys - availableKeys} of ${keys} upstream keys are not usable`
  return `${head} (${counts.join(', ')}); the log and "sluice doctor" say which`
}

/** Describes for the log a change of an upstream key, its cause, and the remedy. */
export function describeKeyHealthEvent({ keyId, kind, untilMs, reason }: KeyHealthEvent, nowMs: number): string {
  const seconds = Math.max(1, Math.round((untilMs - nowMs) / 1000))
  switch (kind) {
    case 'disabled':
      return `upstream key ${keyId} is not used for ${seconds} s: ${reason}; replace the key, or check its account at the provider`
    case 'breaker-open':
      return `upstream key ${keyId} is not used for ${seconds} s: ${reason}`
    case 'cooling':
      return `upstream key ${keyId} cools down for ${seconds} s: ${reason}`
    case 'breaker-closed':
      return `upstream key ${keyId} is used again: ${reason}`
    case 'shrink':
      return `upstream key ${keyId} gets fewer calls at a time: ${reason}`
  }
}

function isOut({ enabled, breaker, provider }: KeyState, nowMs: number): boolean {
  return !enabled || breaker.state(nowMs) !== 'closed' || provider.breaker.state(nowMs) !== 'closed'
}
