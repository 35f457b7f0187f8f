import { afterAll, beforeAll, expect, it } from 'vitest'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'

let gateway: TestGateway
let client: ManagementClient

beforeAll(async () => {
  gateway = await startGateway()
  client = new ManagementClient(gateway.url)
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
  const parts = [...page.matchAll(/(?:href|src|url)="([^"]+)"/g)].map((match) => match[1] ?? '')
  expect(parts).toEqual(['data:,', '/docs/rapidoc-min.js', '/openapi.json'])
  expect(page).not.toMatch(/https?:|"\/\//)
  const policy = /Content-Security-Policy" content="([^"]+)"/.exec(page)?.[1]?.split('; ')
  expect(policy).toEqual(expect.arrayContaining(["default-src 'none'", "script-src 'self'", "connect-src 'self'"]))
  // Its program would ask another origin for fonts.
  expect(page).toContain('load-fonts="false"')
  await client.expect('documentationFile', 200, { params: { file: 'rapidoc-min.js' } })
  for (const part of ['package.json', '..%2Fpackage.json', 'x']) {
    expect((await fetch(`${gateway.url}/docs/${part}`)).status, part).toBe(404)
  }
  await client.expect('documentationFile', 404, { params: { file: 'x' } })
  for (const name of ['openApi', 'documentation'] as const) {
    await client.expect(name, 200)
    expect(await client.call(name, { query: { a: 'b' } })).toMatchObject({
      status: 400,
      json: { error: { param: '/a' } },
    })
  }
})
