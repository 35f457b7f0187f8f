import { expect, it } from 'vitest'
import { endOfHours, isWithin, startOfDay, zonedTime } from '../../../src/shared/core/zoned-time.ts'

const NIGHT = { from: '22:00', to: '07:00' }
const at = (text: string): number => Date.parse(text)
const endAt = (zone: string, text: string): string | null => {
  const endMs = endOfHours(NIGHT, zone, at(text))
  return endMs === null ? null : new Date(endMs).toISOString()
}

it('shows an instant as clocks of the zone do', () => {
  expect(zonedTime('Asia/Kolkata', at('2026-11-25T18:31:00Z'))).toEqual({ date: '2026-11-26', weekday: 4, minute: 1 })
  expect(zonedTime('nowhere', at('2026-11-25T18:31:00Z')).date).toBe('2026-11-25')
})

it('finds the end of hours that go over midnight', () => {
  expect(endAt('Europe/Berlin', '2026-11-25T20:59:59Z')).toBeNull()
  expect(endAt('Europe/Berlin', '2026-11-25T21:00:00Z')).toBe('2026-11-26T06:00:00.000Z')
  expect(endAt('Europe/Berlin', '2026-11-26T05:59:59Z')).toBe('2026-11-26T06:00:00.000Z')
  expect(endAt('Europe/Berlin', '2026-11-26T06:00:00Z')).toBeNull()
  expect(isWithin({ from: '09:00', to: '17:00' }, 'UTC', at('2026-11-25T17:00:00Z'))).toBe(false)
})

it('follows clocks that are set forward or back', () => {
  expect(endAt('Europe/Berlin', '2026-03-28T22:00:00Z')).toBe('2026-03-29T05:00:00.000Z')
  expect(endAt('Europe/Berlin', '2026-10-24T21:00:00Z')).toBe('2026-10-25T06:00:00.000Z')
  expect(new Date(startOfDay('Europe/Berlin', at('2026-10-25T22:59:59Z'))).toISOString()).toBe(
    '2026-10-24T22:00:00.000Z',
  )
})
