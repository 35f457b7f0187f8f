import { expect, it } from 'vitest'
import { isTimeZone, monthAt } from '../../../src/shared/core/month.ts'
import fc from '../../support/fast-check.ts'

it.each([
  ['UTC', '2026-11-21T12:00:00Z', '2026-11', '2026-11-01T00:00:00.000Z', '2026-12-01T00:00:00.000Z'],
  ['Asia/Shanghai', '2026-11-30T16:00:00Z', '2026-12', '2026-11-30T16:00:00.000Z', '2026-12-31T16:00:00.000Z'],
  ['Asia/Kathmandu', '2026-11-30T18:14:59Z', '2026-11', '2026-10-31T18:15:00.000Z', '2026-11-30T18:15:00.000Z'],
  // Clocks are set back in it.
  ['America/New_York', '2026-11-15T00:00:00Z', '2026-11', '2026-11-01T04:00:00.000Z', '2026-12-01T05:00:00.000Z'],
  // Clocks were set forward at the very midnight that began it: the month began at one.
  ['America/Asuncion', '2026-03-15T00:00:00Z', '2026-03', '2026-03-01T03:00:00.000Z', '2026-04-01T03:00:00.000Z'],
  // The whole of December 30th was skipped.
  ['Pacific/Apia', '2011-12-15T00:00:00Z', '2011-12', '2011-12-01T10:00:00.000Z', '2011-12-31T10:00:00.000Z'],
  ['Nowhere/Never', '2026-11-21T12:00:00Z', '2026-11', '2026-11-01T00:00:00.000Z', '2026-12-01T00:00:00.000Z'],
])('of %s at %s is %s, from %s to %s', (zone, at, name, start, end) => {
  const month = monthAt(zone, Date.parse(at))

  expect([month.name, new Date(month.startMs).toISOString(), new Date(month.endMs).toISOString()]).toEqual([
    name,
    start,
    end,
  ])
})

it('gives every instant of a month that month, and no other one', () => {
  const zones = fc.constantFrom('UTC', 'Europe/London', 'America/Sao_Paulo', 'Pacific/Chatham', 'Africa/Casablanca')
  const instants = fc.integer({ min: Date.UTC(2000, 0), max: Date.UTC(2060, 0) })
  fc.assert(
    fc.property(zones, instants, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (zone, atMs, share) => {
      const month = monthAt(zone, atMs)
      expect(month.startMs <= atMs && atMs < month.endMs).toBe(true)
      const inside = month.startMs + Math.floor(share * (month.endMs - month.startMs))
      monthAt(zone, 0)
      expect(monthAt(zone, inside)).toEqual(month)
      expect(monthAt(zone, month.endMs).startMs).toBe(month.endMs)
    }),
    { numRuns: 200 },
  )
})

it('knows a time zone when it sees one', () => {
  expect(['Europe/Berlin', 'UTC', 'Mars/Olympus', ''].map(isTimeZone)).toEqual([true, true, false, false])
})
