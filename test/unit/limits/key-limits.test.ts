import { describe, expect, it } from 'vitest'
import { GatewayError } from '../../../src/core/errors.ts'
import type { Principal } from '../../../src/core/principal.ts'
import { KeyLimits } from '../../../src/limits/key-limits.ts'
import { entryKey } from '../../support/entry-key.ts'

const NOW = 1_700_000_000_000

function principal(limits: Partial<Principal['limits']> = {}): Principal {
  return {
    key: entryKey({ id: 'key-1' }),
    limits: { requestsPerMinute: 100, tokensPerMinute: 10_000, concurrency: 10, ...limits },
    models: null,
  }
}

function refusalOf(act: () => unknown): GatewayError {
  try {
    act()
  } catch (cause) {
    if (cause instanceof GatewayError) return cause
  }
  throw new Error('it was not refused')
}

describe('KeyLimits', () => {
  it('admits exactly the limit of requests and names the wait', () => {
    const limits = new KeyLimits()
    const caller = principal({ requestsPerMinute: 3 })
    for (let i = 0; i < 3; i++) limits.admit(caller, NOW).settle(0, NOW)
    const refusal = refusalOf(() => limits.admit(caller, NOW))
    expect(refusal.code).toBe('RPM_EXCEEDED')
    expect(refusal.retryAfterSeconds).toBe(61)
    expect(limits.admit(caller, NOW + 61_000)).toBeDefined()
  })

  it('refuses what would be one too many at the same time, and gives the place back once', () => {
    const limits = new KeyLimits()
    const caller = principal({ concurrency: 2 })
    const first = limits.admit(caller, NOW)
    limits.admit(caller, NOW)
    expect(refusalOf(() => limits.admit(caller, NOW)).code).toBe('CONCURRENCY_EXCEEDED')
    first.settle(0, NOW)
    first.settle(0, NOW)
    expect(limits.inFlight('key-1')).toBe(1)
  })

  it('reserves tokens before and books the truth after, in the second of the reservation', () => {
    const limits = new KeyLimits()
    const caller = principal({ tokensPerMinute: 1000 })
    const admission = limits.admit(caller, NOW)
    admission.reserve(900, NOW)
    expect(refusalOf(() => limits.admit(caller, NOW).reserve(200, NOW)).code).toBe('TPM_EXCEEDED')
    admission.settle(50, NOW + 30_000)
    expect(limits.state(caller, NOW + 30_000).remainingTokens).toBe(950)
    expect(limits.state(caller, NOW + 61_000).remainingTokens).toBe(1000)
  })

  it('lets a request in that reserves more than a whole minute, when nothing else is under way', () => {
    const limits = new KeyLimits()
    const caller = principal({ tokensPerMinute: 1000 })
    limits.admit(caller, NOW).reserve(50_000, NOW)
    expect(limits.state(caller, NOW).remainingTokens).toBe(0)
  })
})
