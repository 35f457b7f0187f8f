import { describe, expect, it } from 'vitest'
import { SlidingWindow } from '../../../src/shared/runtime/sliding-window.ts'
import fc from '../../support/fast-check.ts'

const START_MS = 1_700_000_000_000

/** Takes of one unit each, in time order, spread over a few minutes. */
const arrivals = fc
  .array(fc.integer({ min: 0, max: 200_000 }), { minLength: 1, maxLength: 400 })
  .map((offsets) => offsets.sort((a, b) => a - b).map((offset) => START_MS + offset))

describe('SlidingWindow', () => {
  it('never admits more than the limit in any real window of 60 seconds', () => {
    fc.assert(
      fc.property(arrivals, fc.integer({ min: 1, max: 50 }), (times, limit) => {
        const window = new SlidingWindow()
        const admitted = times.filter((time) => window.take(1, limit, time) !== null)
        for (const [index, time] of admitted.entries()) {
          const within = admitted.slice(index).filter((other) => other < time + 60_000)
          expect(within.length).toBeLessThanOrEqual(limit)
        }
      }),
    )
  })

  it('admits again at the moment that secondsUntil names, and not 10 ms before', () => {
    fc.assert(
      fc.property(arrivals, fc.integer({ min: 1, max: 20 }), (times, limit) => {
        const window = new SlidingWindow()
        for (const [index, time] of times.entries()) {
          if (window.take(1, limit, time) !== null) continue
          const atMs = time + window.secondsUntil(1, limit, time) * 1000
          const replay = (untilMs: number): SlidingWindow => {
            const copy = new SlidingWindow()
            for (const earlier of times.slice(0, index)) copy.take(1, limit, earlier)
            copy.used(untilMs)
            return copy
          }
          expect(replay(atMs).take(1, limit, Math.ceil(atMs))).not.toBeNull()
          if (atMs - 10 > time) expect(replay(atMs - 10).take(1, limit, atMs - 10)).toBeNull()
          return
        }
      }),
    )
  })

  it('corrects an amount in the cell it was taken in, and forgets one that left the window', () => {
    const window = new SlidingWindow()
    const cell = window.take(100, 1000, START_MS)
    expect(cell).not.toBeNull()
    window.correct(cell ?? 0, -60, START_MS + 5_000)
    expect(window.used(START_MS + 5_000)).toBe(40)
    expect(window.used(START_MS + 61_000)).toBe(0)
    window.correct(cell ?? 0, 500, START_MS + 61_000)
    expect(window.used(START_MS + 61_000)).toBe(0)
  })

  it('keeps its sum equal to its cells over any history of takes and corrections', () => {
    const step = fc.record({
      afterMs: fc.integer({ min: 0, max: 90_000 }),
      amount: fc.integer({ min: 0, max: 1000 }),
      correction: fc.integer({ min: -1000, max: 1000 }),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const window = new SlidingWindow()
        let now = START_MS
        for (const { afterMs, amount, correction } of steps) {
          now += afterMs
          const cell = window.take(amount, 10_000, now)
          if (cell !== null) window.correct(cell, Math.max(correction, -amount), now)
        }
        expect(window.used(now + 120_000)).toBe(0)
      }),
    )
  })

  it('stays where it was when the clock goes back', () => {
    const window = new SlidingWindow()
    window.take(5, 5, START_MS)
    expect(window.take(1, 5, START_MS - 3_600_000)).toBeNull()
  })
})
