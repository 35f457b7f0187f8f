import { expect, it } from 'vitest'
import { newestAfter } from '../../../src/console/pages/requests/live-rows.ts'

it('rows of the stream come before those that are shown, and replace them after a gap', () => {
  const event = { data: ['d', 'c'], omitted: 0, incomplete: false }
  expect(newestAfter(event, ['b', 'a'], 3)).toEqual(['d', 'c', 'b'])
  expect(newestAfter({ ...event, omitted: 2 }, ['b', 'a'], 3)).toEqual(['d', 'c'])
  expect(newestAfter({ ...event, data: [], incomplete: true }, ['b', 'a'], 3)).toEqual([])
})
