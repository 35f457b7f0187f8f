import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { Authenticator } from '../../../src/front/auth/authenticator.ts'
import { digestApiKey, generateApiKey, isApiKey, maskApiKey } from '../../../src/shared/core/api-key.ts'
import type { ErrorCode } from '../../../src/shared/core/errors.ts'
import { GatewayError } from '../../../src/shared/core/errors.ts'
import type { IncomingRequest } from '../../../src/shared/core/exchange.ts'
import { NO_LIMITS } from '../../../src/shared/core/snapshot.ts'
import type { EntryKey } from '../../../src/shared/core/snapshot.ts'
import { entryKey } from '../../support/entry-key.ts'

const SECRET = randomBytes(32)
const NOW = 1_700_000_000_000
const DEFAULTS = {
  key: { requestsPerMinute: 60, tokensPerMinute: 1000, concurrency: 5 },
  user: NO_LIMITS,
  enterprise: NO_LIMITS,
}

function request(headers: Record<string, string>, address = '203.0.113.9'): IncomingRequest {
  return { method: 'POST', path: '/v1/chat/completions', query: '', headers, hasTags: false, address, params: [] }
}

function authenticatorWith(secretKey: string, members: Partial<EntryKey> = {}): Authenticator {
  const authenticator = new Authenticator(SECRET, DEFAULTS)
  const key = entryKey({ digest: digestApiKey(secretKey, SECRET), ...members })
  authenticator.update({ version: 1, keys: [key], providers: [], models: [] })
  return authenticator
}

function codeOf(act: () => unknown): ErrorCode | null {
  try {
    act()
    return null
  } catch (cause) {
    return GatewayError.from(cause).code
  }
}

describe('Authenticator', () => {
  const secretKey = generateApiKey()
  const bearer = { authorization: `Bearer ${secretKey}` }

  it('takes a key from either header', () => {
    const authenticator = authenticatorWith(secretKey)
    expect(authenticator.authenticate(request(bearer), NOW).key.id).toBe('key')
    expect(authenticator.authenticate(request({ 'x-api-key': secretKey }), NOW).key.id).toBe('key')
    expect(authenticator.authenticate(request({ 'api-key': secretKey }), NOW).key.id).toBe('key')
    expect(authenticator.authenticate(request({ authorization: `bearer  ${secretKey}` }), NOW).key.id).toBe('key')
  })

  it('prefers the bearer token, unless only the other header holds a key', () => {
    const authenticator = authenticatorWith(secretKey)
    const both = { authorization: `Bearer ${secretKey}`, 'x-api-key': generateApiKey() }
    expect(authenticator.authenticate(request(both), NOW).key.id).toBe('key')
    const stray = { authorization: 'Bearer something-else', 'x-api-key': secretKey }
    expect(authenticator.authenticate(request(stray), NOW).key.id).toBe('key')
  })

  it('fills in the default limits', () => {
    const limits = { requestsPerMinute: 7, tokensPerMinute: null, concurrency: null }
    const found = authenticatorWith(secretKey, { limits }).authenticate(request(bearer), NOW)
    expect(found.limits).toEqual({ requestsPerMinute: 7, tokensPerMinute: 1000, concurrency: 5 })
  })

  it.each([
    ['no key at all', {}, request({}), 'KEY_MISSING'],
    ['a key nobody issued', {}, request({ 'x-api-key': generateApiKey() }), 'KEY_UNKNOWN'],
    ['a mistyped key', {}, request({ 'x-api-key': `${secretKey.slice(0, -1)}!` }), 'KEY_UNKNOWN'],
    ['a disabled key', { enabled: false }, request(bearer), 'KEY_DISABLED'],
    ['an expired key', { expiresAtMs: NOW }, request(bearer), 'KEY_EXPIRED'],
    ['an address outside the list', { addresses: ['10.0.0.0/8'] }, request(bearer), 'ADDRESS_DENIED'],
    [
      'a client outside the list',
      { clients: ['claude-cli/'] },
      request({ ...bearer, 'user-agent': 'x' }),
      'CLIENT_DENIED',
    ],
  ] as const)('refuses %s', (_name, members, sent, code) => {
    const authenticator = authenticatorWith(secretKey, members)
    expect(codeOf(() => authenticator.authenticate(sent, NOW))).toBe(code)
  })

  it.each(['203.0.113.9', '203.0.113.0/24', '2001:db8::/32'])('lets an address on the list in: %s', (entry) => {
    const authenticator = authenticatorWith(secretKey, { addresses: [entry] })
    const address = entry.includes(':') ? '2001:db8::7' : '203.0.113.9'
    expect(codeOf(() => authenticator.authenticate(request(bearer, address), NOW))).toBeNull()
  })

  it('forgets a key as soon as a snapshot comes without it, though it was seen before', () => {
    const authenticator = authenticatorWith(secretKey)
    authenticator.authenticate(request(bearer), NOW)
    authenticator.update({ version: 2, keys: [], providers: [], models: [] })
    expect(codeOf(() => authenticator.authenticate(request(bearer), NOW))).toBe('KEY_UNKNOWN')
  })
})

describe('API keys', () => {
  it('are sk- and 40 base62 characters whose checksum finds every single mistyped character', () => {
    const key = generateApiKey()
    expect(key).toMatch(/^sk-[0-9A-Za-z]{40}$/)
    expect(isApiKey(key)).toBe(true)
    for (let at = 3; at < key.length; at++) {
      const other = key[at] === 'a' ? 'b' : 'a'
      expect(isApiKey(key.slice(0, at) + other + key.slice(at + 1))).toBe(false)
    }
  })

  it('are masked but for four characters at either end', () => {
    const key = generateApiKey()
    expect(maskApiKey(key)).toBe(`sk-${key.slice(3, 7)}…${key.slice(-4)}`)
  })
})
