import { expect, it } from 'vitest'
import { readHeadroom } from '../../../src/front/gateway/headroom.ts'

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5)

function requests(remaining: string, reset: string, limit = '100'): Record<string, string> {
  return {
    'x-ratelimit-limit-requests': limit,
    'x-ratelimit-remaining-requests': remaining,
    'x-ratelimit-reset-requests': reset,
  }
}

it.each([
  ['6m0s', 360_000],
  ['120ms', 120],
  ['1s', 1_000],
  ['20.5s', 20_500],
  ['1h2m3s', 3_723_000],
  ['1d', 86_400_000],
  ['2m59.56s', 179_560],
  ['1m30s250ms', 90_250],
  ['7', 7_000],
  ['0.5', 500],
  [String(NOW + 4_000), 4_000],
  [String(NOW / 1000 + 4), 4_000],
  ['2026-01-02T03:04:15Z', 10_000],
])('reads a reset of %s', (reset, inMs) => {
  expect(readHeadroom(requests('50', reset), NOW)).toEqual({ left: 0.5, resetAtMs: NOW + inMs })
})

it('takes the scarcest of the limits', () => {
  const tokens = {
    'x-ratelimit-limit-tokens': '1000',
    'x-ratelimit-remaining-tokens': '10',
    'x-ratelimit-reset-tokens': '3s',
  }
  expect(readHeadroom({ ...requests('50', '1s'), ...tokens }, NOW)).toEqual({ left: 0.01, resetAtMs: NOW + 3_000 })
})

it('takes the later reset of two that are used up', () => {
  const tokens = { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '9s' }
  expect(readHeadroom({ ...requests('0', '1s'), ...tokens }, NOW)).toEqual({ left: 0, resetAtMs: NOW + 9_000 })
})

it.each(['requests', 'tokens', 'input-tokens', 'output-tokens'])('knows the messages protocol: %s', (what) => {
  const headers = {
    [`anthropic-ratelimit-${what}-limit`]: '1000',
    [`anthropic-ratelimit-${what}-remaining`]: '0',
    [`anthropic-ratelimit-${what}-reset`]: '2026-01-02T03:05:05Z',
  }
  expect(readHeadroom(headers, NOW)).toEqual({ left: 0, resetAtMs: NOW + 60_000 })
})

it.each([
  [{}],
  [{ 'x-ratelimit-remaining-requests': '0' }],
  [{ 'x-ratelimit-remaining-requests': '', 'x-ratelimit-reset-requests': '1s' }],
  [requests('some', '1s')],
  [requests('5', 'soon')],
  [requests('5', '')],
  [requests('5', '-3')],
])('says nothing of %j', (headers) => {
  expect(readHeadroom(headers, NOW)).toBeNull()
})
