import { describe, expect, it } from 'vitest'
import { validateVersionHeader } from '../../../src/front/validation/version-header.ts'

describe('the version header', () => {
  it.each(['2023-06-01', '2024-02-29', '2023-12-31', '1999-01-01'])('may be %s', (value) => {
    expect(() => validateVersionHeader(value)).not.toThrow()
  })

  it.each([undefined, ''])('must be there: %s', (value) => {
    expect(() => validateVersionHeader(value)).toThrow(
      expect.objectContaining({ code: 'MISSING_VERSION', status: 400 }),
    )
  })

  it.each([
    '2023-6-1',
    '20230601',
    '2023-02-29',
    '2023-13-01',
    '2023-00-10',
    '2023-06-31',
    '2023-06-00',
    'latest',
    '2023-06-01T00:00:00Z',
    '2023-06-01, 2023-06-01',
    ' 2023-06-01',
  ])('must be a date: %s', (value) => {
    expect(() => validateVersionHeader(value)).toThrow(
      expect.objectContaining({ code: 'INVALID_VERSION', status: 400 }),
    )
  })
})
