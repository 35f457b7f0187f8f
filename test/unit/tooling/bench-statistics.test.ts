import { describe, expect, it } from 'vitest'
import type { PairResult } from '../../../bench/support/comparison.ts'
import { problemsOf, shown, summarise } from '../../../bench/support/comparison.ts'
import type { Cost } from '../../../bench/support/cost.ts'
import { compareFigure, median, medianInterval, percentile, spreadOf } from '../../../bench/support/statistics.ts'

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1)
}

describe('a percentile', () => {
  it('lies between the two nearest values, whatever their order', () => {
    expect(percentile([4, 1, 3, 2], 0.5)).toBe(2.5)
    expect(percentile([4, 1, 3, 2], 0.25)).toBe(1.75)
    expect(percentile(upTo(101).reverse(), 0.99)).toBe(100)
  })

  it('is the least value at 0 and the greatest at 1', () => {
    expect([percentile([3, 9, 5], 0), percentile([3, 9, 5], 1)]).toEqual([3, 9])
  })

  it('leaves the values in their order', () => {
    const values = [3, 1, 2]
    percentile(values, 0.5)
    expect(values).toEqual([3, 1, 2])
  })

  it('is not a number without values', () => {
    expect(percentile([], 0.5)).toBeNaN()
  })
})

describe('a median', () => {
  it('of an even count is halfway between the two in the middle', () => {
    expect(median([1.04, 0.96])).toBe(1)
  })
})

describe('a spread', () => {
  it('tells count, ends and quartiles', () => {
    expect(spreadOf([5, 3, 1, 2, 4])).toEqual({
      count: 5,
      min: 1,
      lowerQuartile: 2,
      median: 3,
      upperQuartile: 4,
      max: 5,
    })
  })
})

describe('the interval of a median', () => {
  it('is the whole range below nine values, with the confidence that this has', () => {
    expect(medianInterval([0.9, 1.1])).toEqual({ low: 0.9, high: 1.1, confidence: 0.5 })
    expect(medianInterval(upTo(6))).toEqual({ low: 1, high: 6, confidence: 1 - 2 / 64 })
    expect(medianInterval(upTo(8))).toEqual({ low: 1, high: 8, confidence: 1 - 2 / 256 })
  })

  it('leaves out the outer values of more, as the tables of the sign test do', () => {
    // Ranks for 95 %, from published tables.
    const ranks = { 9: 2, 12: 3, 15: 4, 17: 5, 20: 6, 25: 8 }
    for (const [text, rank] of Object.entries(ranks)) {
      const count = Number(text)
      expect(medianInterval(upTo(count)), text).toMatchObject({ low: rank, high: count + 1 - rank })
    }
    expect(medianInterval(upTo(12)).confidence).toBeCloseTo(0.9614, 4)
  })

  it('of one value has no confidence', () => {
    expect(medianInterval([7])).toEqual({ low: 7, high: 7, confidence: 0 })
  })

  it('contains the true median as often as it says', () => {
    let state = 1
    const next = (): number => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
    const runs = 4_000
    let contained = 0
    for (let run = 0; run < runs; run++) {
      // Skewed: half of all values are below 0.25.
      const { low, high } = medianInterval(Array.from({ length: 12 }, () => next() ** 2))
      if (low <= 0.25 && 0.25 <= high) contained++
    }
    expect(contained / runs).toBeCloseTo(0.9614, 1)
    expect(contained / runs).toBeGreaterThan(0.945)
  })
})

describe('a figure of base and change', () => {
  it('is compared round by round, not by its medians', () => {
    // The machine becomes three times as slow in the second round; the change is 10 % dearer throughout.
    const { base, change, ratio } = compareFigure([
      [
        { base: 10, change: 11 },
        { base: 30, change: 33 },
      ],
    ])
    expect([base, change]).toEqual([20, 22])
    expect(ratio.count).toBe(2)
    expect(ratio.min).toBeCloseTo(1.1)
    expect(ratio.max).toBeCloseTo(1.1)
  })

  it('is as sure as the number of pairs allows, however many rounds they have', () => {
    const round = { base: 100, change: 103 }
    expect(compareFigure([Array.from({ length: 50 }, () => round)]).interval.confidence).toBe(0)
    expect(compareFigure(Array.from({ length: 6 }, () => [round])).interval.confidence).toBeGreaterThan(0.95)
  })

  it('has the interval of the medians of its pairs', () => {
    const pairOf = (...ratios: number[]) => ratios.map((ratio) => ({ base: 1, change: ratio }))
    const { interval, ratio } = compareFigure([pairOf(0.9, 1.0, 1.5), pairOf(1.02, 1.04), pairOf(0.98)])
    expect(interval).toMatchObject({ low: 0.98, high: 1.03 })
    expect([ratio.min, ratio.max]).toEqual([0.9, 1.5])
  })

  it('has no ratio in a round where a value is not above zero', () => {
    const rounds = [
      { base: -0.1, change: 0.4 },
      { base: 0.2, change: 0 },
      { base: 0.2, change: 0.3 },
    ]
    const { base, ratio, interval } = compareFigure([rounds, rounds.slice(0, 2)])
    expect(base).toBe(0.2)
    expect(ratio.count).toBe(1)
    expect(ratio.median).toBeCloseTo(1.5)
    expect(interval.confidence).toBe(0)
  })
})

describe('the result of a scenario', () => {
  const cost: Cost = { cpuUs: 80, controlUs: 20, perSecond: 10_000, p50Ms: 5, p99Ms: 9, memoryMb: 300, errors: 0 }
  const direct: Cost = { ...cost, p50Ms: 1, p99Ms: 3 }
  const pairsOf = (change: Partial<Cost>): PairResult[] =>
    Array.from({ length: 6 }, () => ({
      direct,
      elsewhere: 0,
      rounds: [{ base: cost, change: { ...cost, ...change } }],
    }))

  it('tells latencies above those without a gateway', () => {
    const { figures } = summarise('request', pairsOf({ p50Ms: 7, p99Ms: 6 }))
    expect(figures['added p50 ms']).toMatchObject({ base: 4, change: 6, ratio: { median: 1.5 } })
    expect(figures['added p99 ms']).toMatchObject({ base: 6, change: 3, ratio: { median: 0.5 } })
  })

  it('is shown with ratio, confidence and spread', () => {
    const { figures } = summarise('event', pairsOf({ cpuUs: 82 }))
    const figure = figures['CPU µs/event']
    expect(figure && shown(figure)).toEqual({
      base: 80,
      change: 82,
      ratio: 1.025,
      'of the median': '1.025 to 1.025 (97 %)',
      min: 1.025,
      '1st quartile': 1.025,
      '3rd quartile': 1.025,
      max: 1.025,
      rounds: 6,
    })
  })

  it('of one pair is shown without an interval', () => {
    const { figures } = summarise('request', pairsOf({}).slice(0, 1))
    const figure = figures['memory MiB']
    expect(figure && shown(figure)).toMatchObject({ ratio: 1, 'of the median': '–' })
  })

  it('shows no ratio where a latency is not above that without a gateway', () => {
    const { figures } = summarise('request', pairsOf({ p50Ms: 0.5 }))
    const figure = figures['added p50 ms']
    expect(figure && shown(figure)).toMatchObject({
      base: 4,
      change: -0.5,
      ratio: '–',
      'of the median': '–',
      rounds: 0,
    })
  })

  it('holds at the allowed ratio and fails above it', () => {
    expect(problemsOf('buffered', summarise('request', pairsOf({ cpuUs: 82 })), 1.025)).toEqual([])
    expect(problemsOf('buffered', summarise('request', pairsOf({ cpuUs: 82 })), 1.02)).toEqual([
      'buffered: CPU µs/request is 1.025 × base, at most 1.02 ×',
    ])
    expect(problemsOf('buffered', summarise('request', pairsOf({ cpuUs: 800 })), Infinity)).toEqual([])
  })

  it('fails when requests failed, or when no round has a ratio', () => {
    expect(problemsOf('buffered', summarise('request', pairsOf({ errors: 2 })), 2)).toEqual([
      'buffered: 12 requests failed',
    ])
    expect(problemsOf('buffered', summarise('request', pairsOf({ cpuUs: NaN })), 2)).toHaveLength(1)
  })
})
