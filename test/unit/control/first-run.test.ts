import { expect, it } from 'vitest'
import { fictionalPhone } from '../../../src/control/lifecycle/first-run.ts'
import { normalisePhone } from '../../../src/control/management/phone.ts'

it('makes up a phone for the first admin that is not the same in every installation', () => {
  const phones = Array.from({ length: 200 }, () => fictionalPhone())
  for (const phone of phones) {
    expect(phone).toMatch(/^\+1[2-9][2-8]\d55501\d\d$/)
    expect(normalisePhone(phone)).toBe(phone)
  }
  expect(new Set(phones).size).toBeGreaterThan(150)
})
