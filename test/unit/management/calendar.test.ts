import { describe, expect, it } from 'vitest'
import { checkTimeZone, startsOf } from '../../../src/control/management/calendar.ts'
import { hourPartAt } from '../../../src/control/store/rollup-hours.ts'
import { monthAt } from '../../../src/shared/core/month.ts'

const DAY_MS = 86_400_000

function starts(timeZone: string, unit: 'day' | 'week' | 'month', from: string, to: string): string[] {
  return startsOf(timeZone, unit, Date.parse(from), Date.parse(to)).map((ms) => new Date(ms).toISOString())
}

describe('the calendar of a time zone', () => {
  it('has days of 23 and of 25 hours', () => {
    expect(starts('Europe/Berlin', 'day', '2026-03-28T12:00Z', '2026-03-30T12:00Z')).toEqual([
      '2026-03-27T23:00:00.000Z',
      '2026-03-28T23:00:00.000Z',
      '2026-03-29T22:00:00.000Z',
    ])
    expect(starts('Europe/Berlin', 'day', '2026-10-25T12:00Z', '2026-10-26T12:00Z')).toEqual([
      '2026-10-24T22:00:00.000Z',
      '2026-10-25T23:00:00.000Z',
    ])
  })

  it('has days without a midnight, and days that never were', () => {
    // Clocks went from 23:59:59 to 01:00.
    expect(starts('Africa/Cairo', 'day', '2026-04-23T12:00Z', '2026-04-24T12:00Z')).toEqual([
      '2026-04-22T22:00:00.000Z',
      '2026-04-23T22:00:00.000Z',
    ])
    // Samoa went over the date line: there was no 30 December.
    expect(starts('Pacific/Apia', 'day', '2011-12-29T12:00Z', '2011-12-31T12:00Z')).toEqual([
      '2011-12-29T10:00:00.000Z',
      '2011-12-30T10:00:00.000Z',
      '2011-12-30T10:00:00.000Z',
      '2011-12-31T10:00:00.000Z',
    ])
  })

  it('has weeks from Monday, and months', () => {
    expect(starts('Asia/Kolkata', 'week', '2026-11-25T00:00Z', '2026-12-01T00:00Z')).toEqual([
      '2026-11-22T18:30:00.000Z',
      '2026-11-29T18:30:00.000Z',
    ])
    expect(starts('America/New_York', 'month', '2026-01-01T04:59:59Z', '2026-02-01T05:00Z')).toEqual([
      '2025-12-01T05:00:00.000Z',
      '2026-01-01T05:00:00.000Z',
    ])
    expect(starts('UTC', 'week', '1969-12-31T00:00Z', '1970-01-01T00:00Z')).toEqual(['1969-12-29T00:00:00.000Z'])
  })

  it('agrees with the months of budgets', () => {
    for (const zone of ['UTC', 'Asia/Kathmandu', 'America/St_Johns', 'Australia/Lord_Howe', 'Pacific/Chatham']) {
      const months = startsOf(zone, 'month', Date.UTC(2026, 0, 15), Date.UTC(2027, 0, 15))
      expect(months).toEqual(months.map((ms) => monthAt(zone, ms).startMs))
    }
  })

  it('refuses a time zone that does not exist, by name', () => {
    expect(() => {
      checkTimeZone('Mars/Olympus')
    }).toThrow('There is no time zone "Mars/Olympus"')
    checkTimeZone('Asia/Kolkata')
    checkTimeZone(undefined)
  })
})

describe('hourly sums', () => {
  it('begin at the midnights of every time zone', () => {
    const zones = Intl.supportedValuesOf('timeZone')
    expect(zones.length).toBeGreaterThan(300)
    const fromMs = Date.UTC(2026, 0, 1)
    for (const zone of zones) {
      const days = [fromMs, fromMs + 180 * DAY_MS].flatMap((ms) => startsOf(zone, 'day', ms, ms + DAY_MS))
      for (const ms of days) expect([zone, hourPartAt(ms).startMs]).toEqual([zone, ms])
    }
  })

  it('cover each instant of a day once', () => {
    let count = 0
    for (let ms = Date.UTC(2026, 0, 1); ms < Date.UTC(2026, 0, 2); count += 1) {
      const part = hourPartAt(ms)
      expect(part.startMs).toBe(ms)
      expect(hourPartAt(part.endMs - 1)).toEqual(part)
      expect(part.endMs - ms).toBeLessThanOrEqual(3_600_000)
      ms = part.endMs
    }
    expect(count).toBe(37)
  })
})
