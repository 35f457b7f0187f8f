import { afterEach, beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../../src/shared/runtime/clock.ts'
import { DeadlineClock } from '../../../src/shared/runtime/deadlines.ts'
import { GoogleTokens } from '../../../src/front/upstream/google-tokens.ts'
import { Http1Client } from '../../../src/front/upstream/http1/http1-client.ts'
import { eventually } from '../../support/eventually.ts'
import { TokenEndpoint } from '../../support/token-endpoint.ts'

let endpoint: TokenEndpoint
let client: Http1Client
let tokens: GoogleTokens
let aheadMs: number
let account: string
const deadlines = new DeadlineClock(systemClock)

beforeEach(async () => {
  deadlines.start()
  endpoint = await TokenEndpoint.start()
  client = new Http1Client({ deadlines, maxConnections: 4 })
  aheadMs = 0
  tokens = new GoogleTokens(client, { ...systemClock, now: () => systemClock.now() + aheadMs })
  account = JSON.stringify(endpoint.account)
})

afterEach(async () => {
  await client.close()
  deadlines.stop()
  await endpoint.close()
})

it('fetches one token for all who ask at once, and keeps it', async () => {
  expect(await Promise.all([1, 2, 3].map(async () => tokens.tokenFor(account)))).toEqual([
    'token-1',
    'token-1',
    'token-1',
  ])
  expect(tokens.tokenFor(account)).toBe('token-1')
  expect(endpoint.given).toBe(1)
})

it('renews a token ahead of its end, while the old one is still used', async () => {
  await tokens.tokenFor(account)
  aheadMs = 3_400_000
  expect(tokens.tokenFor(account)).toBe('token-1')
  await eventually(() => {
    expect(tokens.tokenFor(account)).toBe('token-2')
  })
  expect(endpoint.given).toBe(2)
})

it('goes on with the old token while a new one cannot be had, and waits for one once it has ended', async () => {
  await tokens.tokenFor(account)
  aheadMs = 3_400_000
  endpoint.refusals = [503]
  expect(tokens.tokenFor(account)).toBe('token-1')
  await eventually(() => {
    expect(endpoint.refusals).toEqual([])
  })
  aheadMs = 3_600_000
  endpoint.refusals = [500]
  await eventually(async () => {
    await expect(tokens.tokenFor(account)).rejects.toMatchObject({ code: 'UPSTREAM_ERROR' })
  })
  expect(await tokens.tokenFor(account)).toBe('token-2')
})

it('gets another token for one that was refused', async () => {
  await tokens.tokenFor(account)
  tokens.forget(account)
  expect(await tokens.tokenFor(account)).toBe('token-2')
})

it.each([
  ['a key that signs nothing', { private_key: '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----' }],
  ['an account that is not known', { client_email: 'other@p.iam.gserviceaccount.com' }],
])('says of %s that it is not let in', async (_what, change) => {
  const other = JSON.stringify({ ...endpoint.account, ...change })
  await expect(tokens.tokenFor(other)).rejects.toMatchObject({ code: 'UPSTREAM_AUTH' })
  expect(endpoint.given).toBe(0)
})

it('does not take a token service that is away for the provider', async () => {
  const away = JSON.stringify({ ...endpoint.account, token_uri: 'http://127.0.0.1:1/token' })
  await expect(tokens.tokenFor(away)).rejects.toMatchObject({ code: 'UPSTREAM_ERROR' })
})

it('sends what is no account as it is', () => {
  expect(tokens.tokenFor('ya29.token')).toBe('ya29.token')
})
