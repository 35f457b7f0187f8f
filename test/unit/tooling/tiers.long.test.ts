import { expect, inject, it } from 'vitest'
import { dose } from '../../support/dose.ts'

it('runs with the full dose', () => {
  expect(inject('tier')).toBe('long')
  expect(dose('SLUICE_TEST_NOTHING', { short: 1, long: 2 })).toBe(2)
})
