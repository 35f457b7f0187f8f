import { beforeEach, describe, expect, it } from 'vitest'
import { PackingTime } from '../../../src/control/capture/packing-time.ts'

describe('the time of the worker that a tenant takes', () => {
  let time: PackingTime
  let nowMs: number

  beforeEach(() => {
    time = new PackingTime()
    nowMs = 1_000_000
  })

  /** Works on a body when the tenant may have one worked on. Returns the time that it took. */
  function work(tenant: string, ms: number): number {
    if (time.isSpent(tenant, nowMs)) return 0
    nowMs += ms
    time.charge(tenant, nowMs - ms, nowMs)
    return ms
  }

  it('is spent after some slow bodies, for this tenant alone, and for a while', () => {
    expect([1, 2, 3, 4].map(() => work('e:slow', 4_000))).toEqual([4_000, 4_000, 4_000, 0])
    expect(work('e:other', 4_000)).toBe(4_000)
    nowMs += 60_000
    expect(work('e:slow', 4_000)).toBe(4_000)
  })

  it('is a sixth of all time at most, however many slow bodies there are', () => {
    let taken = 0
    for (const endMs = nowMs + 3_600_000; nowMs < endMs; nowMs += 100) taken += work('e:slow', 4_000)
    expect(taken).toBeGreaterThan(500_000)
    expect(taken).toBeLessThan(3_600_000 / 6 + 30_000)
  })

  it('is not spent by ordinary bodies, without a pause between them', () => {
    for (let count = 0; count < 10_000; count++) expect(work('e:busy', 20)).toBe(20)
  })

  it('is not forgotten when many tenants follow', () => {
    for (let count = 0; count < 3; count++) work('e:slow', 4_000)
    for (let count = 0; count < 999; count++) time.charge(`e:${count}`, nowMs, nowMs + 60)
    expect(time.isSpent('e:slow', nowMs)).toBe(true)
  })

  it('is not given back by a clock that goes back', () => {
    for (let count = 0; count < 3; count++) work('e:slow', 4_000)
    time.charge('e:slow', nowMs, nowMs - 60_000)
    expect(time.isSpent('e:slow', nowMs - 60_000)).toBe(true)
  })
})
