import { expect, it } from 'vitest'
import { knownCode } from '../../../src/console/api/known-codes.ts'

it('a conflict has no heading of its own: seldom does something exist already', () => {
  expect(['NOT_FOUND', 'CONFLICT', null].map(knownCode)).toEqual(['NOT_FOUND', null, null])
})
