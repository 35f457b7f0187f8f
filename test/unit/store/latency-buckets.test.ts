import { describe, expect, it } from 'vitest'
import { BUCKETS, bucketOf, durationAt } from '../../../src/control/store/latency-buckets.ts'
import { SeededRandom } from '../../support/seeded-random.ts'

const countsOf = (durations: readonly number[]): Array<[number, number]> => {
  const counts = new Map<number, number>()
  for (const duration of durations) counts.set(bucketOf(duration), (counts.get(bucketOf(duration)) ?? 0) + 1)
  return [...counts].sort(([a], [b]) => a - b)
}

describe('the bucket of a duration', () => {
  it('holds nothing that is more than a tenth from what it is taken for', () => {
    for (let duration = 1; duration < 7_200_000_000; duration = Math.ceil(duration * 1.01)) {
      const taken = durationAt([[bucketOf(duration), 1]], 0.5) ?? 0
      expect(Math.abs(taken - duration) / duration, String(duration)).toBeLessThanOrEqual(0.1)
    }
  })

  it('is one of a few, whatever the duration', () => {
    for (const duration of [0, 0.5, 1, 1.2, 1e12, Number.MAX_SAFE_INTEGER, Infinity]) {
      const bucket = bucketOf(duration)
      expect(Number.isInteger(bucket) && bucket >= 0 && bucket < BUCKETS, String(duration)).toBe(true)
    }
  })
})

describe('a percentile', () => {
  it('is at most a tenth from the exact one', () => {
    const random = new SeededRandom(7)
    const durations = Array.from({ length: 5_000 }, () => Math.round(200 * Math.exp(random.next() * 9)))
    const sorted = [...durations].sort((a, b) => a - b)
    for (const share of [0.5, 0.95, 0.99]) {
      const exact = sorted[Math.ceil(sorted.length * share) - 1] ?? 0
      const taken = durationAt(countsOf(durations), share) ?? 0
      expect(Math.abs(taken - exact) / exact, String(share)).toBeLessThanOrEqual(0.1)
    }
  })

  it('of nothing is none', () => {
    expect(durationAt([], 0.5)).toBeNull()
  })
})
