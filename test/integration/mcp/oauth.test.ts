import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { decodeJwt, decodeProtectedHeader, generateKeyPair, SignJWT } from 'jose'
import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../../support/free-port.ts'
import { startGateway } from '../../support/gateway.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'
import { callTool, TRANSPORTS } from '../../support/mcp-clients.ts'
import type { McpTransport } from '../../support/mcp-clients.ts'
import { OAuthMemory } from '../../support/mcp-oauth.ts'
import { rawMcp } from '../../support/mcp-raw.ts'
import { OpenIdBrowser } from '../../support/openid-browser.ts'
import { OpenIdProvider } from '../../support/openid-provider.ts'

let provider: OpenIdProvider
let gateway: TestGateway
let url: string

beforeAll(async () => {
  const port = await freePort()
  url = `http://127.0.0.1:${port}`
  provider = await OpenIdProvider.start(`${url}/api/auth/oidc/callback`)
  gateway = await startGateway({
    env: { PORT: String(port) },
    config: { server: { base_url: url }, auth: { oidc: provider.config } },
  })
}, 120_000)

afterAll(async () => {
  await gateway.stop()
  rmSync(gateway.dataDir, { recursive: true, force: true })
  await provider.stop()
})

function transportOf(
  kind: McpTransport,
  authProvider: OAuthMemory,
): SSEClientTransport | StreamableHTTPClientTransport {
  return kind === 'sse'
    ? new SSEClientTransport(new URL('/mcp/sse', url), { authProvider })
    : new StreamableHTTPClientTransport(new URL('/mcp', url), { authProvider })
}

/** The whole log-in of a client that has nothing but the address. */
async function logIn(kind: McpTransport, memory = new OAuthMemory()): Promise<OAuthMemory> {
  const first = transportOf(kind, memory)
  await expect(new Client({ name: 'test', version: '1' }).connect(first)).rejects.toThrow(UnauthorizedError)
  const back = await provider.logIn(memory.browserUrl?.href ?? '')
  expect(back.href.startsWith(memory.redirectUrl)).toBe(true)
  await first.finishAuth(back.searchParams.get('code') ?? '')
  return memory
}

async function connected(kind: McpTransport, memory: OAuthMemory): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transportOf(kind, memory))
  return client
}

/** A person who has logged in at the console once, and the client of the console. */
async function person(subject: string): Promise<ManagementClient> {
  provider.person = { subject, claims: { name: subject } }
  const browser = new OpenIdBrowser(provider, url, url)
  await browser.signIn()
  return browser.client
}

const statusWith = async (token: string): Promise<number> =>
  (await rawMcp(url, { method: 'GET', path: '/mcp/tools', token })).status

describe.each(TRANSPORTS)('a client of the official SDK that logs in by OAuth, over %s', (kind) => {
  it('finds the provider, registers, and acts as the user', async () => {
    await person(`ada-${kind}`)
    const memory = await logIn(kind)
    const client = await connected(kind, memory)
    expect(await callTool(client, 'who_am_i')).toMatchObject({ name: `ada-${kind}`, role: 'user' })
    expect(await callTool(client, 'create_key', { name: 'by a tool' })).toMatchObject({ name: 'by a tool' })
    await client.close()
  })
})

describe('an access token of the provider', () => {
  it('is for tools alone: the management API refuses it', async () => {
    await person('grace')
    const { kept } = await logIn('streamable')
    const token = kept?.access_token ?? ''
    expect(await statusWith(token)).toBe(200)
    const management = new ManagementClient(url)
    management.token = token
    expect((await management.call('me')).status).toBe(401)
  })

  it('is refused when it is for another resource, is an ID token, or is forged', async () => {
    await person('eve')
    const { kept } = await logIn('streamable')
    const { access_token: good = '', id_token: idToken = '' } = kept ?? {}
    const elsewhere = new OAuthMemory()
    elsewhere.resource = new URL('https://other.example.com/mcp')
    const { kept: other } = await logIn('streamable', elsewhere)
    const { kid = '' } = decodeProtectedHeader(good)
    const claims = decodeJwt(good)
    const forged = (alg: string, key: Parameters<SignJWT['sign']>[0], changes: object = {}): Promise<string> =>
      new SignJWT({ ...claims, ...changes }).setProtectedHeader({ alg, kid }).sign(key)
    const { privateKey } = await generateKeyPair('RS256')
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    const bad = [
      other?.access_token ?? '',
      idToken,
      await forged('RS256', privateKey),
      await forged('HS256', Buffer.from('a secret of the client')),
      await forged('RS256', privateKey, { iss: 'sluice' }),
      `${part({ alg: 'none' })}.${part(claims)}.`,
      `${part({ alg: 'RS256', kid })}.${part({ ...claims, sub: 'ada-sse' })}.${good.split('.')[2] ?? ''}`,
    ]
    expect(await statusWith(good)).toBe(200)
    for (const token of bad) {
      expect(token.split('.')).toHaveLength(3)
      const answer = await rawMcp(url, { method: 'GET', path: '/mcp/tools', token })
      expect(answer.status).toBe(401)
      expect(answer.headers.get('www-authenticate')).toContain('error="invalid_token", resource_metadata=')
    }
  })

  it('is a session that its user sees, and can end', async () => {
    const console = await person('linus')
    const { kept } = await logIn('streamable')
    const token = kept?.access_token ?? ''
    expect(await statusWith(token)).toBe(200)
    const { json } = await console.expect('listSessions', 200)
    const sessions = json['data'] as Array<{ id: string; current: boolean }>
    const [ofToken] = sessions.filter(({ id }) => id.startsWith('oidc_'))
    expect(sessions).toHaveLength(2)
    const stream = await rawMcp(url, { method: 'GET', path: '/mcp/sse', token })
    await console.expect('endSession', 204, { params: { id: ofToken?.id ?? '' } })
    await stream.ended()
    expect(await statusWith(token)).toBe(401)
  })

  it('ends with a new role of its user, also after the next log-in', async () => {
    const console = await person('rising')
    const { json: user } = await console.expect('me', 200)
    const { kept } = await logIn('streamable')
    const token = kept?.access_token ?? ''
    expect(await statusWith(token)).toBe(200)
    const admin = await ManagementClient.ofAdmin({ url, dataDir: gateway.dataDir })
    const params = { id: String(user['id']) }
    await admin.expect('adminUpdateUser', 200, { params, body: { role: 'admin' } })
    expect(await statusWith(token)).toBe(401)
    await person('rising')
    expect(await statusWith(token)).toBe(401)
    expect(await statusWith((await logIn('streamable')).kept?.access_token ?? '')).toBe(200)
  })

  it('ends its streams when it expires', async () => {
    await person('brief')
    provider.accessTokenSeconds = 3
    const { kept } = await logIn('streamable')
    provider.accessTokenSeconds = 3_600
    const token = kept?.access_token ?? ''
    const stream = await rawMcp(url, { method: 'GET', path: '/mcp/sse', token })
    expect(stream.status).toBe(200)
    await stream.ended()
    expect(await statusWith(token)).toBe(401)
  })

  it('of a person who has no account is refused, with the address at which to log in', async () => {
    provider.person = { subject: 'stranger', claims: {} }
    const { kept } = await logIn('streamable')
    const answer = await rawMcp(url, { path: '/mcp/tools/who_am_i', token: kept?.access_token ?? '', body: {} })
    expect([answer.status, await answer.text()]).toEqual([403, expect.stringContaining(`${url}/api/auth/oidc/start`)])
  })
})

describe('the metadata', () => {
  it('names the provider', async () => {
    for (const path of ['', '/mcp', '/mcp/sse']) {
      const answer = await fetch(`${url}/.well-known/oauth-protected-resource${path}`)
      expect(await answer.json()).toMatchObject({
        resource: `${url}${path === '' ? '/mcp' : path}`,
        authorization_servers: [provider.issuer],
        scopes_supported: ['openid'],
      })
    }
  })
})

describe('while the provider is down', () => {
  it('tokens that it has given stay valid', async () => {
    await person('early')
    const { kept } = await logIn('streamable')
    const token = kept?.access_token ?? ''
    expect(await statusWith(token)).toBe(200)
    await provider.stop()
    expect(await statusWith(token)).toBe(200)
  })
})
