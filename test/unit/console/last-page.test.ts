import { expect, it } from 'vitest'
import { pageInstead } from '../../../src/console/parts/last-page.ts'

it.each([
  [{ page: 4, total: 51 }, 2],
  [{ page: 2, total: 50 }, 1],
  [{ page: 2, total: 0 }, 1],
  // A row came or went between the count and the rows.
  [{ page: 2, total: 51 }, 1],
  [{ page: 1, total: 0 }, null],
  [{}, null],
])('of an empty page %j, page %j is shown', (shown, page) => {
  expect(pageInstead({ data: [], limit: 50, ...shown })).toBe(page)
})

it('a page with rows is shown', () => {
  expect(pageInstead({ data: ['row'], page: 2, limit: 50, total: 51 })).toBeNull()
})
