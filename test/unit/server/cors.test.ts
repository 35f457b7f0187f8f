import { expect, it } from 'vitest'
import type { IncomingRequest } from '../../../src/shared/core/exchange.ts'
import { createCors } from '../../../src/front/server/cors.ts'

const PAGE = 'https://console.example.com'

function request(method: string, headers: Record<string, string>): IncomingRequest {
  return { method, path: '/v1/models', query: '', headers, hasTags: false, address: '127.0.0.1', params: [] }
}

const preflight = (origin: string): IncomingRequest =>
  request('OPTIONS', { origin, 'access-control-request-method': 'POST' })

it('says nothing to anybody where no origin is configured', () => {
  const cors = createCors([])
  expect(cors.headers(request('GET', { origin: PAGE }))).toEqual([])
  expect(cors.preflight(preflight(PAGE))).toBeNull()
})

it('lets every page in where "*" is configured, and tells caches nothing', () => {
  const cors = createCors(['*'])
  expect(cors.headers(request('GET', { origin: PAGE }))).toContainEqual(['Access-Control-Allow-Origin', '*'])
  expect(cors.headers(request('GET', { origin: PAGE })).some(([name]) => name === 'Vary')).toBe(false)
  expect(cors.preflight(preflight('https://any.example'))).not.toBeNull()
})

it('names the page that asks, and warns caches, where origins are listed', () => {
  const cors = createCors([PAGE, 'http://localhost:3000'])
  const headers = cors.headers(request('GET', { origin: 'http://localhost:3000' }))
  expect(headers).toContainEqual(['Access-Control-Allow-Origin', 'http://localhost:3000'])
  expect(headers).toContainEqual(['Vary', 'Origin'])
  expect(cors.headers(request('GET', {}))).toEqual([['Vary', 'Origin']])
  expect(cors.headers(request('GET', { origin: `${PAGE}.evil.example` }))).toEqual([['Vary', 'Origin']])
})

it('takes an OPTIONS without a requested method for an ordinary request', () => {
  const cors = createCors([PAGE])
  expect(cors.preflight(request('OPTIONS', { origin: PAGE }))).toBeNull()
  expect(cors.preflight(request('POST', { origin: PAGE, 'access-control-request-method': 'POST' }))).toBeNull()
  expect(cors.preflight(preflight('https://evil.example'))).toBeNull()
  expect(cors.preflight(preflight(PAGE))).not.toBeNull()
})
