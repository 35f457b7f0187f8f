import { expect, it } from 'vitest'
import { GrowingBody } from '../../../src/shared/runtime/growing-body.ts'
import fc from '../../support/fast-check.ts'
import { memoryInUse } from '../../support/memory-in-use.ts'

const pieces = fc.array(fc.uint8Array({ maxLength: 40_000 }), { maxLength: 12 })

it('holds what was appended, in pieces of any size, and nothing once it was taken', () => {
  fc.assert(
    fc.property(pieces, fc.option(fc.nat(300_000), { nil: null }), (given, reserved) => {
      const body = new GrowingBody()
      given.forEach((piece, index) => {
        if (index === 1 && reserved !== null) body.reserve(reserved)
        body.append(piece)
      })
      const whole = Buffer.concat(given)
      expect(body.length).toBe(whole.length)
      expect(body.take().equals(whole)).toBe(true)
      expect([body.length, body.take().length]).toEqual([0, 0])
    }),
    { numRuns: 200 },
  )
})

it('hands out memory that it does not write to again', () => {
  const body = new GrowingBody()
  body.append(Buffer.from('first'))
  const first = body.take()
  body.append(Buffer.from('other'))
  expect([first.toString(), body.take().toString()]).toEqual(['first', 'other'])
})

it('holds bytes that come one by one in at most twice their memory', () => {
  const total = 8 * 1024 * 1024
  const byte = Buffer.from('x')
  const before = memoryInUse()
  const body = new GrowingBody()
  for (let at = 0; at < total; at++) body.append(byte)
  expect(memoryInUse() - before).toBeLessThanOrEqual(2 * total)
  expect(body.length).toBe(total)
})
