import { describe, expect, it } from 'vitest'
import { Origins } from '../../../src/control/mcp/origins.ts'

const AWAY = '203.0.113.9'
const HERE = '127.0.0.1'

function verdict(origins: Origins, headers: Record<string, string>, address: string): string {
  try {
    origins.check(headers, address)
    return 'passes'
  } catch (cause) {
    return (cause as { code: string }).code
  }
}

describe('origins', () => {
  const plain = new Origins({ baseUrl: null, allowed: [] })
  const public_ = new Origins({ baseUrl: 'https://ai.example.com/gw', allowed: ['https://chat.example.com'] })

  it.each([
    [plain, { host: 'ai.example.com' }, AWAY, 'passes'],
    [plain, { host: 'ai.example.com' }, HERE, 'ORIGIN_DENIED'],
    [plain, { host: '192.0.2.1:8787' }, HERE, 'passes'],
    [plain, { host: '[2001:db8::1]' }, HERE, 'passes'],
    [plain, { host: 'localhost:8787' }, '::1', 'passes'],
    [plain, {}, HERE, 'ORIGIN_DENIED'],
    [plain, { host: 'localhost', origin: 'http://localhost:3000' }, HERE, 'passes'],
    [plain, { host: 'ai.example.com', origin: 'http://localhost:3000' }, AWAY, 'ORIGIN_DENIED'],
    [plain, { host: 'ai.example.com', origin: 'https://ai.example.com' }, AWAY, 'ORIGIN_DENIED'],
    [public_, { host: 'ai.example.com' }, HERE, 'passes'],
    [public_, { host: 'ai.example.com', origin: 'https://ai.example.com' }, AWAY, 'passes'],
    [public_, { host: 'ai.example.com', origin: 'http://ai.example.com' }, AWAY, 'ORIGIN_DENIED'],
    [public_, { host: 'ai.example.com', origin: 'https://chat.example.com' }, AWAY, 'passes'],
    [public_, { host: 'localhost', origin: 'moz-extension://x' }, HERE, 'ORIGIN_DENIED'],
    [new Origins({ baseUrl: null, allowed: ['*'] }), { host: 'x', origin: 'null' }, AWAY, 'passes'],
  ] as const)('%# %o %o %s', (origins, headers, address, expected) => {
    expect(verdict(origins, headers, address)).toBe(expected)
  })
})
