import { expect, it } from 'vitest'
import { LeaseBook } from '../../../src/front/limits/lease-book.ts'
import { WINDOW_SECONDS } from '../../../src/shared/core/allowance.ts'
import type { LeaseGrant } from '../../../src/shared/core/allowance.ts'

const ALLOWANCE = 'key:k:tokensPerMinute'
const LIMIT = 6_000
/** Reserved for each request, of which it uses one. */
const RESERVED = 100
/** As long as a request waits for an authority that says nothing. */
const BLOCK_MS = 1_000

class Front {
  nowMs = 1_700_000_000_000
  readonly #book: LeaseBook
  #left = LIMIT
  #isSilent = false

  constructor(processes: number) {
    this.#book = new LeaseBook({
      clock: { now: () => this.nowMs, monotonicUs: () => this.nowMs * 1000 },
      processes,
      writer: 'front',
      leaseKeepMs: null,
      send: (message) => {
        if (message.type !== 'lease-request' || this.#isSilent) return true
        const grants = message.asks.map(({ need }): LeaseGrant => {
          this.#left -= need
          const state = { allowance: ALLOWANCE, used: LIMIT - this.#left, left: this.#left, emptyAtMs: this.nowMs }
          return { ...state, amount: need, retryAtMs: 0 }
        })
        if (grants.length === 0) return true
        const nothing = { sequence: null, states: [], reclaims: [], reclaimsOver: [] }
        this.#book.receive({ type: 'lease-reply', ...nothing, grants })
        return true
      },
      soon: (flush) => {
        flush()
      },
    })
    this.#book.greeted({ type: 'lease-epoch', epoch: 'e' })
  }

  silence(): void {
    this.#isSilent = true
  }

  /** Reserves, and returns whether that was possible; uses one of it at once. */
  async request(): Promise<boolean> {
    const lease = this.#book.lease(ALLOWANCE, 'rate', LIMIT)
    const reserved = lease.obtain(RESERVED, this.nowMs)
    if (this.#isSilent) this.nowMs += BLOCK_MS
    this.#book.tick()
    const result = await reserved
    if (!('bucket' in result)) return false
    lease.correct(result.bucket, 1 - RESERVED)
    this.#book.tick()
    return true
  }
}

it('refuses nothing far from a limit that no other front shares, however long the authority says nothing', async () => {
  const front = new Front(1)
  for (let n = 0; n < 24; n++) expect(await front.request()).toBe(true)
  front.silence()
  for (let n = 0; n < WINDOW_SECONDS; n++) expect(await front.request()).toBe(true)
})

it('leaves to other fronts what they may have been given meanwhile', async () => {
  const front = new Front(2)
  for (let n = 0; n < 24; n++) expect(await front.request()).toBe(true)
  front.silence()
  const admitted: boolean[] = []
  for (let n = 0; n < 30; n++) admitted.push(await front.request())
  expect(admitted).toContain(false)
})
