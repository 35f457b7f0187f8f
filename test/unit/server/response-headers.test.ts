import { expect, it } from 'vitest'
import { isHeaderName, safeHeaderValue, statusLine } from '../../../src/front/server/response-headers.ts'
import fc from '../../support/fast-check.ts'

// eslint-disable-next-line no-control-regex -- what a value must not hold
const CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/

it('lets no value split an answer, whatever an upstream sent', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (value) => {
      expect(safeHeaderValue(value)).not.toMatch(CONTROL)
    }),
    { seed: 4_101 },
  )
})

it.each([
  ['a\r\nSet-Cookie: x=1', 'aSet-Cookie: x=1'],
  ['a\r\n\r\n<html>', 'a<html>'],
  ['a\nb', 'ab'],
  ['a\0b', 'ab'],
])('makes %j into %j', (value, safe) => {
  expect(safeHeaderValue(value)).toBe(safe)
  // The pattern is shared: a second value must be cleaned as the first was.
  expect(safeHeaderValue(value)).toBe(safe)
})

it('leaves an honest value as it is', () => {
  for (const value of ['', 'text/event-stream; charset=utf-8', 'a\tb', 'ä', 'W/"x"']) {
    expect(safeHeaderValue(value)).toBe(value)
  }
})

it('knows a header name from what is none', () => {
  for (const name of ['X-A', 'x_a', "!#$%&'*+-.^_`|~9"]) expect(isHeaderName(name)).toBe(true)
  for (const name of ['', 'a b', 'a:', 'a\r\n', 'ä', 'a(', ' a']) expect(isHeaderName(name)).toBe(false)
})

it('writes a status line for every number there is', () => {
  expect(statusLine(200)).toBe('200 OK')
  expect(statusLine(404)).toBe('404 Not Found')
  expect(statusLine(299)).toBe('299 Status')
  for (const wrong of [0, 600, 99, -1, 200.5, Number.NaN, Infinity]) {
    expect(statusLine(wrong)).toBe('500 Internal Server Error')
  }
})
