import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'

let gateway: TestGateway

beforeAll(async () => {
  gateway = await startGateway()
})

afterAll(async () => {
  await gateway.stop()
})

const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${gateway.url}${path}`, { headers, redirect: 'manual' })

const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

it('leads browsers from / to the console, and tells programs that the gateway is up', async () => {
  const page = await get('/', BROWSER)
  expect([page.status, page.headers.get('location'), page.headers.get('vary')]).toEqual([303, '/console', 'Accept'])
  const program = await get('/', { accept: '*/*' })
  expect([program.status, await program.json()]).toEqual([200, { status: 'ok' }])
})

it.each(['/console', '/console/', '/console/keys', '/console/e/ent_1/requests/req_1?range=7d'])(
  'serves the page at %s, which nobody keeps, under a policy of its own nonce',
  async (path) => {
    const nonces = await Promise.all(
      [1, 2].map(async () => {
        const answer = await get(path)
        expect(answer.status).toBe(200)
        expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
        expect(answer.headers.get('cache-control')).toBe('no-store')
        expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
        expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
        const policy = answer.headers.get('content-security-policy') ?? ''
        const nonce = /'nonce-([^']+)'/.exec(policy)?.[1] ?? ''
        expect(policy.split('; ')).toEqual([
          "default-src 'none'",
          "script-src 'self'",
          `style-src 'self' 'nonce-${nonce}'`,
          "img-src 'self'",
          "font-src 'self'",
          "connect-src 'self'",
          "base-uri 'none'",
          "form-action 'self'",
          "frame-ancestors 'none'",
        ])
        const text = await answer.text()
        expect(text).toContain(`nonce="${nonce}"`)
        expect(text).not.toContain('__NONCE__')
        // No script but files of its own.
        expect(text).not.toMatch(/<script(?![^>]*src="\/console\/assets\/)/)
        return nonce
      }),
    )
    expect(new Set(nonces).size).toBe(2)
  },
)

it('serves files that browsers keep for ever, compressed as they ask', async () => {
  const page = await (await get('/console')).text()
  const files = [...page.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)].map((match) => match[1] ?? '')
  expect(files.length).toBeGreaterThan(2)
  for (const file of files) {
    const answer = await get(file, { 'accept-encoding': 'identity' })
    expect(answer.status, file).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(answer.headers.get('vary')).toBe('Accept-Encoding')
    expect(answer.headers.get('content-encoding')).toBeNull()
  }
  const script = files.find((file) => /index-.*[.]js$/.test(file)) ?? ''
  const plain = await (await get(script, { 'accept-encoding': 'identity' })).text()
  for (const [asked, sent] of [
    ['gzip', 'gzip'],
    ['gzip, br', 'br'],
    ['br;q=0, gzip;q=0.5', 'gzip'],
    ['deflate', null],
  ] as const) {
    const answer = await get(script, { 'accept-encoding': asked })
    expect(answer.headers.get('content-encoding'), asked).toBe(sent)
    expect(await answer.text()).toBe(plain)
  }
})

it('serves every file of the bundle, which is that of a production', async () => {
  const names = readdirSync('dist/console/assets').filter((name) => !/[.](br|gz)$/.test(name))
  expect(names.length).toBeGreaterThan(20)
  expect(names.filter((name) => name.includes('jsx-dev'))).toEqual([])
  const answers = await Promise.all(names.map(async (name) => [name, (await get(`/console/assets/${name}`)).status]))
  expect(answers.filter(([, status]) => status !== 200)).toEqual([])
})

it.each([
  '/console/assets/missing.js',
  '/console/assets/index.html',
  '/console/assets/..%2Findex.html',
  '/console/assets/../build.json',
  '/console/assets/x/y.js',
])('has nothing at %s', async (path) => {
  const answer = await get(path)
  // A client resolves dots itself: what is then below /console is a page.
  if (path.includes('/../')) expect(answer.headers.get('content-type')).toContain('text/html')
  else expect([answer.status, await answer.json()]).toMatchObject([404, { error: { code: 'NOT_FOUND' } }])
})

it('takes no other methods, and answers HEAD without a body', async () => {
  const post = await fetch(`${gateway.url}/console/keys`, { method: 'POST', body: '{}' })
  expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  const head = await fetch(`${gateway.url}/console/keys`, { method: 'HEAD' })
  expect([head.status, await head.text()]).toEqual([200, ''])
})
