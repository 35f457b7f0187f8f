import { describe, expect, it } from 'vitest'
import { forecastOf } from '../../../src/control/management/forecast.ts'
import { monthAt } from '../../../src/shared/core/month.ts'

const DAY_MS = 86_400_000
const START_MS = Date.UTC(2026, 10, 1)
const MONTH = monthAt('UTC', START_MS)
const BEFORE = monthAt('UTC', START_MS - 1)

function forecast(more: { spent: number; days: number; spentBefore?: number; sinceMs?: number }): number {
  const { spent, days, spentBefore = 0, sinceMs = 0 } = more
  return forecastOf({
    spent,
    spentBefore,
    sinceMs,
    month: MONTH,
    monthBefore: BEFORE,
    nowMs: START_MS + days * DAY_MS,
  })
}

describe('the forecast of a month', () => {
  it('goes on as the month began', () => {
    expect(forecast({ spent: 100, days: 10 })).toBe(300)
    expect(forecast({ spent: 150, days: 15 })).toBe(300)
    expect(forecast({ spent: 0, days: 10 })).toBe(0)
  })

  it('is what was spent when the month is over', () => {
    expect(forecast({ spent: 123, days: 30, spentBefore: 9_000 })).toBe(123)
  })

  it('begins as the month before was, and leans on it less with each day', () => {
    // October had 31 days at 10 a day.
    expect(forecast({ spent: 0, spentBefore: 310, days: 0 })).toBe(300)
    // Seven days at 10 and seven at 20: 15 a day for the 23 days that are left.
    expect(forecast({ spent: 140, spentBefore: 310, days: 7 })).toBe(140 + 15 * 23)
    expect(forecast({ spent: 0, spentBefore: 310, days: 29 })).toBeLessThan(3)
  })

  it('counts from the day on which the spender was made', () => {
    expect(forecast({ spent: 50, days: 15, sinceMs: START_MS + 10 * DAY_MS })).toBe(50 + 10 * 15)
    // Two days of October at 15 a day, and two of November at 5.
    expect(forecast({ spent: 10, spentBefore: 30, days: 2, sinceMs: START_MS - 2 * DAY_MS })).toBe(10 + 10 * 28)
  })

  it('takes one request in the first minute for a day', () => {
    expect(forecast({ spent: 7, days: 1 / 1_440 })).toBeLessThanOrEqual(7 + 7 * 30)
    expect(forecast({ spent: 7, days: 1 / 1_440, sinceMs: START_MS })).toBeGreaterThan(7 * 29)
  })

  it('is never below what is spent, and never too large for JSON', () => {
    for (const days of [0, 1, 13, 29.99]) expect(forecast({ spent: 5, days })).toBeGreaterThanOrEqual(5)
    expect(forecast({ spent: 9e15, days: 1 })).toBe(Number.MAX_SAFE_INTEGER)
  })
})
