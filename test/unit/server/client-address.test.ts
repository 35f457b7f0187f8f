import { describe, expect, it } from 'vitest'
import { createClientAddresses, normaliseAddress } from '../../../src/front/server/client-address.ts'

describe('client addresses', () => {
  it('is the peer when no proxy is trusted, whatever it claims', () => {
    expect(createClientAddresses([]).of('198.51.100.1', '10.0.0.1')).toBe('198.51.100.1')
  })

  it('is the last hop that is not a trusted proxy', () => {
    const addresses = createClientAddresses(['10.0.0.0/8', '::1'])
    expect(addresses.of('10.1.1.1', '192.0.2.1, 203.0.113.5, 10.2.2.2')).toBe('203.0.113.5')
    expect(addresses.of('::1', '203.0.113.5')).toBe('203.0.113.5')
    expect(addresses.of('203.0.113.7', '192.0.2.1')).toBe('203.0.113.7')
  })

  it('is the proxy when what it forwards is no address', () => {
    const addresses = createClientAddresses(['10.0.0.0/8'])
    expect(addresses.of('10.1.1.1', 'unknown')).toBe('10.1.1.1')
    expect(addresses.of('10.1.1.1', undefined)).toBe('10.1.1.1')
  })

  it.each([
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['0000:0000:0000:0000:0000:ffff:c000:0201', '192.0.2.1'],
    ['2001:0db8:0000:0000:0000:0000:0000:0001', '2001:db8::1'],
    ['0000:0000:0000:0000:0000:0000:0000:0001', '::1'],
    ['2001:0db8:0001:0000:0002:0000:0000:0003', '2001:db8:1:0:2::3'],
  ])('writes %s as %s', (text, usual) => {
    expect(normaliseAddress(text)).toBe(usual)
  })
})
