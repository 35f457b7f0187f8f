import { expect, it } from 'vitest'
import { AddressList } from '../../../src/shared/core/address-list.ts'

it('holds addresses and ranges of both versions, and no text that is no address', () => {
  const list = new AddressList(['10.0.0.0/8', '192.0.2.7', '2001:db8::/32', '::1'])

  const held = ['10.200.0.1', '192.0.2.7', '2001:db8:1::9', '::1']
  const others = ['11.0.0.1', '192.0.2.8', '2001:db9::1', '::2', '', 'localhost', '10.0.0', '10.0.0.0/8']
  expect([...held, ...others].filter((address) => list.has(address))).toEqual(held)
})

it.each(['', 'localhost', '10.0.0', '10.0.0.0/33', '10.0.0.0/8.5', '10.0.0.0/x', '::1/129', '1:2', '/8'])(
  'refuses the entry %j',
  (entry) => {
    expect(() => new AddressList([entry])).toThrow(RangeError)
  },
)
