import { expect, it } from 'vitest'
import { firstRequestIdOf, newRequestId, timeOfRequestId } from '../../../src/shared/core/request-id.ts'

it.each([1_700_000_000_000, 36 ** 7, 36 ** 7 * 20 + 35])(
  'an id of %i stands between the first ids of two times',
  (atMs) => {
    const id = newRequestId(atMs)
    expect(timeOfRequestId(id)).toBe(atMs)
    expect(firstRequestIdOf(atMs) < id).toBe(true)
    expect(id < firstRequestIdOf(atMs + 1)).toBe(true)
  },
)

it('every id is younger than a time before 1970', () => {
  expect(firstRequestIdOf(-1) < newRequestId(36 ** 7)).toBe(true)
})
