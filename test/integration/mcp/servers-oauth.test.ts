import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { decodeJwt } from 'jose'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/free-port.ts'
import { ManagementClient } from '../../support/management-client.ts'
import { textOf } from '../../support/mcp-clients.ts'
import { McpWorld } from '../../support/mcp-world.ts'
import type { McpUser } from '../../support/mcp-world.ts'
import { OpenIdProvider } from '../../support/openid-provider.ts'
import { sluice } from '../../support/sluice.ts'
import { UpstreamToolServer } from '../../support/upstream-tool-server.ts'

let provider: OpenIdProvider
let upstream: UpstreamToolServer
let world: McpWorld
let ada: McpUser
let bob: McpUser
/** Tokens that the upstream does not take any more. */
let revoked = new Set<string>()
/** The tokens of the last calls, by person. */
const used = new Map<string, string>()

beforeAll(async () => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  upstream = await UpstreamToolServer.start()
  upstream.tools = [{ name: 'whoami', description: 'Says who you are.' }]
  provider = await OpenIdProvider.start(`${url}/api/mcp/callback`, { refreshes: true })
  upstream.protection = { issuer: provider.issuer, accepts: isFor }
  world = await McpWorld.start({
    env: { PORT: String(port) },
    config: { server: { base_url: url }, management: { private_upstreams: ['127.0.0.1'] } },
  })
  ada = await withKey()
  bob = await withKey()
  await registerListed('notes')
}, 120_000)

afterAll(async () => {
  await world.gateway.stop()
  await upstream.stop()
  await provider.stop()
})

beforeEach(() => {
  revoked = new Set()
  provider.accessTokenSeconds = 3_600
  upstream.onCall = ({ headers: { authorization = '' } }) => {
    const subject = subjectOf(authorization)
    used.set(subject, authorization.slice('Bearer '.length))
    return { content: [{ type: 'text', text: subject }] }
  }
})

/** A token of the provider for this server alone, which has not ended. */
function isFor(token: string): boolean {
  if (revoked.has(token)) return false
  const { aud, exp = 0 } = decodeJwt(token)
  return aud === upstream.url && exp * 1_000 > Date.now()
}

function subjectOf(authorization = ''): string {
  return String(decodeJwt(authorization.replace('Bearer ', '')).sub)
}

async function register(id: string, body: object = {}): Promise<void> {
  const settings = { url: upstream.url, auth: 'oauth', oauth_scopes: ['openid'], allow_all_tools: true }
  await world.admin.expect('adminCreateToolServer', 201, {
    body: { id, ...settings, access: [{ everyone: true }], ...body },
  })
}

/** A user with one key, which pays for calls. */
async function withKey(): Promise<McpUser> {
  const user = await world.user()
  await world.key(user)
  return user
}

/** Registers a server whose tools are listed. */
async function registerListed(id: string, body: object = {}): Promise<void> {
  await register(id, body)
  await connect(world.admin, id, 'root')
  await eventually(async () => {
    expect(await namesFor(ada.token)).toContain(`${id}__whoami`)
  })
}

/** The answer with which the browser comes back from the authorization server, as the console gets it. */
async function consented(client: ManagementClient, id: string, subject: string): Promise<Record<string, string>> {
  provider.person = { subject, claims: {} }
  const { json } = await client.expect('startToolConnection', 200, { params: { id } })
  const back = await provider.logIn(String(json['url']))
  const answer = await fetch(back, { redirect: 'manual' })
  const page = new URL(answer.headers.get('location') ?? '')
  expect([answer.status, page.pathname]).toEqual([302, '/console/connect'])
  return Object.fromEntries(new URLSearchParams(page.hash.slice(1)))
}

async function connect(client: ManagementClient, id: string, subject: string): Promise<void> {
  const body = await consented(client, id, subject)
  await client.expect('finishToolConnection', 200, { body })
}

/** The client as which the gateway sends a user to the authorization server. */
async function clientIdAt(user: McpUser, id: string): Promise<string> {
  const { json } = await user.client.expect('startToolConnection', 200, { params: { id } })
  return new URL(String(json['url'])).searchParams.get('client_id') ?? ''
}

async function namesFor(token: string): Promise<string[]> {
  const answer = await fetch(`${world.gateway.url}/mcp/tools`, { headers: { authorization: `Bearer ${token}` } })
  return ((await answer.json()) as { tools: Array<{ name: string }> }).tools.map(({ name }) => name)
}

async function call(token: string, tool = 'notes__whoami'): Promise<{ readonly text: string }> {
  const answer = await fetch(`${world.gateway.url}/mcp/tools/${tool}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{}',
  })
  return { text: await answer.text() }
}

async function stateOf(user: McpUser, id = 'notes'): Promise<unknown> {
  const { json } = await user.client.expect('listToolConnections', 200)
  return (json['data'] as Array<{ id: string; state: string }>).find((one) => one.id === id)?.state
}

/** The operations on connections in the audit log, newest first. */
async function audited(user: McpUser): Promise<unknown[]> {
  const { json } = await world.admin.expect('adminAudit', 200, { query: { limit: '100' } })
  const rows = json['data'] as Array<{ operation: string; target_id: string; user_id: string; outcome: string }>
  return rows
    .filter(({ operation, user_id: by }) => operation.endsWith('ToolConnection') && by === user.id)
    .filter(({ outcome }) => outcome === 'done')
    .map(({ operation, target_id: target }) => `${operation} ${target}`)
}

describe('a tool server with OAuth', () => {
  it('leads a user without a grant to the page that gets one', async () => {
    expect(await stateOf(ada)).toBe('none')
    const { text } = await call(ada.token)
    expect(text).toContain('AUTHORIZATION_NEEDED')
    expect(text).toContain(`${world.gateway.url}/console/connect/notes`)
  })

  it('is called with the token of each user, over connections that they do not share', async () => {
    await connect(ada.client, 'notes', 'ada')
    await connect(bob.client, 'notes', 'bob')
    const before = upstream.headers.length
    const texts = await Promise.all([ada, bob, ada, bob].map(async ({ token }) => (await call(token)).text))
    expect(texts.map((text) => /ada|bob/.exec(text)?.[0])).toEqual(['ada', 'bob', 'ada', 'bob'])
    const subjects = new Map<string, Set<string>>()
    for (const { authorization, 'mcp-session-id': id } of upstream.headers.slice(before)) {
      if (typeof id !== 'string') continue
      subjects.set(id, (subjects.get(id) ?? new Set()).add(subjectOf(authorization)))
    }
    expect([...subjects.values()].map((of) => of.size)).toEqual([...subjects].map(() => 1))
    expect(subjects.size).toBeGreaterThanOrEqual(2)
    expect(await stateOf(ada)).toBe('connected')
  })

  it('shows tokens to nobody', async () => {
    const shown = await Promise.all([
      ada.client.expect('listToolConnections', 200),
      world.admin.expect('adminGetToolServer', 200, { params: { id: 'notes' } }),
      world.admin.expect('adminAudit', 200),
    ])
    for (const { text } of shown) for (const token of used.values()) expect(text).not.toContain(token)
  })

  it('gets a new token once, for all calls, before the old one ends and when it is refused', async () => {
    provider.accessTokenSeconds = 1
    await connect(ada.client, 'notes', 'ada')
    provider.accessTokenSeconds = 3_600
    provider.grants.length = 0
    await eventually(async () => {
      expect((await call(ada.token)).text).toContain('ada')
      expect(provider.grants).toEqual(['refresh_token'])
    })
    revoked.add(used.get('ada') ?? '')
    const texts = await Promise.all([1, 2, 3].map(async () => (await call(ada.token)).text))
    expect(texts.filter((text) => text.includes('ada'))).toHaveLength(3)
    expect(provider.grants).toEqual(['refresh_token', 'refresh_token'])
  })

  it('leads to the page again when the grant has ended, and others go on', async () => {
    await connect(ada.client, 'notes', 'ada')
    expect((await call(ada.token)).text).toContain('ada')
    revoked.add(used.get('ada') ?? '')
    provider.refusesRefresh = true
    const { text } = await call(ada.token)
    provider.refusesRefresh = false
    expect(text).toContain('/console/connect/notes')
    expect(await stateOf(ada)).toBe('none')
    expect((await call(bob.token)).text).toContain('bob')
  })

  it('is disconnected by its user', async () => {
    await connect(ada.client, 'notes', 'ada')
    await ada.client.expect('endToolConnection', 204, { params: { id: 'notes' } })
    await ada.client.expect('endToolConnection', 404, { params: { id: 'notes' } })
    expect((await audited(ada)).slice(0, 2)).toEqual(['endToolConnection notes', 'finishToolConnection notes'])
    expect((await call(ada.token)).text).toContain('AUTHORIZATION_NEEDED')
    expect((await call(bob.token)).text).toContain('bob')
  })

  it('is called by a key of the user as the user, and by no key of an enterprise', async () => {
    await connect(ada.client, 'notes', 'ada')
    const own = await world.key(ada, { mcp_tools: ['notes__*'] })
    expect((await call(own.key)).text).toContain('ada')
    const params = { id: await world.enterprise('Acme') }
    const body = { name: 'k', mcp_tools: ['notes__*'] }
    const { json } = await world.admin.expect('createEnterpriseKey', 201, { params, body })
    expect((await call(String(json['key']))).text).toContain('TOOLS_DENIED')
  })
})

/** As docs/mcp.md has them. */
const ADD = 'sluice mcp add wiki --url https://wiki.example.com/mcp --oauth --everyone --allow-all'
const CONNECT = 'sluice mcp connect wiki'

describe('the commands of the page', () => {
  it('register a server, and show where a user connects', async () => {
    const env = { SLUICE_URL: world.gateway.url, SLUICE_TOKEN: world.admin.token ?? '' }
    const run = (command: string) => sluice(command.split(' ').slice(1), { env, cwd: world.gateway.dataDir })
    expect((await run(ADD.replace('https://wiki.example.com/mcp', upstream.url))).code).toBe(0)
    expect((await run(CONNECT)).stdout).toContain(`Open ${world.gateway.url}/console/connect/wiki`)
  })
})

describe('a consent', () => {
  it('counts once, and in the session that began it', async () => {
    const body = await consented(ada.client, 'notes', 'ada')
    expect((await bob.client.call('finishToolConnection', { body })).json).toMatchObject({
      error: { code: 'INVALID_FIELD', param: '/state' },
    })
    expect((await new ManagementClient(world.gateway.url).call('finishToolConnection', { body })).status).toBe(401)
    const wrong = { ...body, state: `${body['state'] ?? ''}x` }
    expect((await ada.client.call('finishToolConnection', { body: wrong })).status).toBe(400)
    await ada.client.expect('finishToolConnection', 200, { body })
    expect((await ada.client.call('finishToolConnection', { body })).status).toBe(400)
  })

  it('is asked for with PKCE, the resource and a state', async () => {
    const { json } = await ada.client.expect('startToolConnection', 200, { params: { id: 'notes' } })
    const { searchParams } = new URL(String(json['url']))
    expect(Object.fromEntries(searchParams)).toMatchObject({
      response_type: 'code',
      code_challenge_method: 'S256',
      resource: upstream.url,
      redirect_uri: `${world.gateway.url}/api/mcp/callback`,
      scope: 'openid',
    })
    expect(searchParams.get('state')?.length).toBeGreaterThanOrEqual(43)
  })

  it('does not call addresses that the metadata must not name', async () => {
    upstream.protection = { issuer: 'http://169.254.169.254/', accepts: isFor }
    const refused = await ada.client.call('startToolConnection', { params: { id: 'notes' } })
    upstream.protection = { issuer: provider.issuer, accepts: isFor }
    expect(refused.json).toMatchObject({ error: { code: 'UPSTREAM_UNREACHABLE' } })
  })

  it('is for servers that the user may use', async () => {
    await register('theirs', { access: [{ enterprise_id: 'ent_x' }] })
    expect((await ada.client.call('startToolConnection', { params: { id: 'theirs' } })).status).toBe(404)
    expect(await stateOf(ada, 'theirs')).toBeUndefined()
  })
})

describe('a grant', () => {
  it('goes with the address of the server, and with the server', async () => {
    await register('moved')
    await connect(ada.client, 'moved', 'ada')
    expect(await stateOf(ada, 'moved')).toBe('connected')
    const params = { id: 'moved' }
    await world.admin.expect('adminUpdateToolServer', 200, { params, body: { url: `${upstream.url}/other` } })
    expect(await stateOf(ada, 'moved')).toBe('none')
    await world.admin.expect('adminDeleteToolServer', 204, { params })
    await eventually(async () => {
      expect(await stateOf(ada, 'moved')).toBeUndefined()
    })
  })

  it('outlives a new secret of the client that an admin has registered, and a wrong one', async () => {
    const user = await withKey()
    const { client_id: clientId, client_secret: secret } = await provider.register(
      `${world.gateway.url}/api/mcp/callback`,
    )
    await registerListed('rotated', { oauth_client_id: clientId, oauth_client_secret: secret })
    await connect(user.client, 'rotated', 'ada')
    expect((await call(user.token, 'rotated__whoami')).text).toContain('ada')
    await provider.changeClient(clientId, 'a newer secret')
    revoked.add(used.get('ada') ?? '')
    expect((await call(user.token, 'rotated__whoami')).text).toContain('AUTHORIZATION_NEEDED')
    expect(await stateOf(user, 'rotated')).toBe('connected')
    const body = { oauth_client_secret: 'a newer secret' }
    await world.admin.expect('adminUpdateToolServer', 200, { params: { id: 'rotated' }, body })
    await eventually(async () => {
      expect((await call(user.token, 'rotated__whoami')).text).toContain('ada')
    })
  })

  it('is had again when the authorization server has forgotten the client that the gateway registered', async () => {
    await registerListed('forgotten')
    const [one, other] = [await withKey(), await withKey()]
    await connect(one.client, 'forgotten', 'ada')
    await connect(other.client, 'forgotten', 'bob')
    for (const { token } of [one, other]) await call(token, 'forgotten__whoami')
    const before = await clientIdAt(one, 'forgotten')
    await provider.changeClient(before, null)
    revoked = new Set(used.values())
    expect((await call(one.token, 'forgotten__whoami')).text).toContain('/console/connect/forgotten')
    await connect(one.client, 'forgotten', 'ada')
    const after = await clientIdAt(one, 'forgotten')
    expect(after).not.toBe(before)
    // The grant of the other one is for the client that was forgotten.
    expect((await call(other.token, 'forgotten__whoami')).text).toContain('AUTHORIZATION_NEEDED')
    expect(await clientIdAt(other, 'forgotten')).toBe(after)
    expect((await call(one.token, 'forgotten__whoami')).text).toContain('ada')
  })

  it('needs settings that fit together', async () => {
    const refusal = async (body: object): Promise<unknown> => {
      const answer = await world.admin.call('adminCreateToolServer', {
        body: { id: 'bad', url: upstream.url, ...body },
      })
      return (answer.json['error'] as { param: string }).param
    }
    expect(await refusal({ oauth_client_id: 'x' })).toBe('/oauth_client_id')
    expect(await refusal({ auth: 'oauth', oauth_client_secret: 'x' })).toBe('/oauth_client_secret')
    expect(await refusal({ auth: 'oauth', headers: { authorization: 'Bearer x' } })).toMatch('/headers')
  })
})

describe('a client that can open pages', () => {
  const transport = () => {
    const requestInit = { headers: { authorization: `Bearer ${bob.token}` } }
    return [new URL('/mcp', world.gateway.url), { requestInit }] as const
  }
  const call = { name: 'notes__whoami', arguments: {} }
  let opened: string[]

  beforeEach(async () => {
    opened = []
    await bob.client.call('endToolConnection', { params: { id: 'notes' } })
  })

  afterEach(() => {
    expect(opened).toEqual([`${world.gateway.url}/console/connect/notes`])
  })

  /** The user opens the page, and connects. */
  async function visit(url: string): Promise<{ action: 'accept' }> {
    opened.push(url)
    await connect(bob.client, 'notes', 'bob')
    return { action: 'accept' }
  }

  it('is asked to during the call, which goes on', async () => {
    const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: { url: {} } } })
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => visit(params.mode === 'url' ? params.url : ''))
    await client.connect(new StreamableHTTPClientTransport(...transport()))
    expect(textOf((await client.callTool(call)) as { content: [] })).toContain('bob')
    await client.close()
  })

  it('is asked to by the result, without a session, and sends the call again', async () => {
    const client = new ModernClient(
      { name: 'test', version: '1' },
      { capabilities: { elicitation: { url: {} } }, versionNegotiation: { mode: 'auto' } },
    )
    client.setRequestHandler('elicitation/create', ({ params }) => visit('url' in params ? params.url : ''))
    await client.connect(new ModernTransport(...transport()))
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28')
    expect(JSON.stringify(await client.callTool(call))).toContain('bob')
    await client.close()
  })
})
