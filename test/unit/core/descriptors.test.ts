import { expect, it } from 'vitest'
import { descriptorLimit, maxConnections } from '../../../src/shared/runtime/descriptors.ts'

it.each([
  { limit: 256, threads: 1 },
  { limit: 1_024, threads: 3 },
  { limit: 20_000, threads: 3 },
  { limit: 1_048_576, threads: 16 },
])('leaves of $limit descriptors enough for a call of each client and for the front itself', ({ limit, threads }) => {
  const clients = maxConnections(limit, threads)
  expect(2 * clients + 64).toBeLessThanOrEqual(limit)
  expect(2 * clients).toBeGreaterThan(limit - 64 - 8 * threads - 2)
})

it('takes a client in any case', () => {
  expect(maxConnections(64, 8)).toBe(1)
})

it('knows the limit of this process', () => {
  expect(descriptorLimit()).toBeGreaterThan(0)
  expect(Number.isInteger(descriptorLimit())).toBe(true)
})
