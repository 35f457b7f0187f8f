import { afterAll, beforeAll, expect, it } from 'vitest'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'

let gateway: TestGateway

beforeAll(async () => {
  gateway = await startGateway()
})

afterAll(async () => {
  await gateway.stop()
})

it('describes itself to programs', async () => {
  const response = await fetch(`${gateway.url}/openapi.json`)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json'])
  const { openapi, paths } = (await response.json()) as { openapi: string; paths: object }
  expect(openapi).toBe('3.1.0')
  expect(Object.keys(paths)).toEqual(
    expect.arrayContaining(['/v1/chat/completions', '/api/keys', '/v1/enterprise/{id}']),
  )
})

it('describes itself to people, with nothing from elsewhere', async () => {
  const page = await (await fetch(`${gateway.url}/docs`)).text()
  const parts = [...page.matchAll(/(?:href|src)="([^"]+)"/g)].map((match) => match[1] ?? '')
  expect(parts.length).toBeGreaterThan(3)
  for (const part of parts) {
    expect(part).toMatch(/^\/docs\//)
    expect((await fetch(`${gateway.url}${part}`)).status, part).toBe(200)
  }
  for (const part of ['package.json', '..%2Fpackage.json', 'x']) {
    expect((await fetch(`${gateway.url}/docs/${part}`)).status, part).toBe(404)
  }
})
