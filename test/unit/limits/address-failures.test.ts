import { expect, it } from 'vitest'
import { AddressFailures } from '../../../src/front/limits/address-failures.ts'

const NOW = 1_700_000_000_000

it('lets an address fail so often in a minute, and says when it may again', () => {
  const failures = new AddressFailures(12, 4)
  for (let i = 0; i < 3; i++) expect(failures.record('192.0.2.1', NOW)).toBeNull()
  const refusal = failures.record('192.0.2.1', NOW)
  expect(refusal).toMatchObject({ code: 'RPM_EXCEEDED', status: 429, retryAfterSeconds: 60.25 })
  expect(failures.record('192.0.2.2', NOW)).toBeNull()
  expect(failures.record('192.0.2.1', NOW + 61_000)).toBeNull()
})
