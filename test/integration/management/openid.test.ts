import { rmSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { itLater } from '../../support/dose.ts'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/free-port.ts'
import type { GatewayOptions, TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { MailServer } from '../../support/mail-server.ts'
import { ManagementClient } from '../../support/management-client.ts'
import type { ManagementAnswer } from '../../support/management-client.ts'
import { OpenIdBrowser } from '../../support/openid-browser.ts'
import { OpenIdProvider } from '../../support/openid-provider.ts'

/** The address at which browsers see the gateway, which listens elsewhere. */
const BASE = 'https://ai.example.com'
const PASSWORD = 'correct horse battery'
let provider: OpenIdProvider
let mails: MailServer
let gateway: TestGateway
let url: string
let admin: ManagementClient

beforeAll(async () => {
  provider = await OpenIdProvider.start(`${BASE}/api/auth/oidc/callback`)
  mails = await MailServer.start()
  const claims = [{ claim: 'groups', value: 'ai-admins', role: 'admin' }]
  ;({ gateway, url } = await startWith({ claims }, { config: { mail: mails.config } }))
  admin = await ManagementClient.ofAdmin({ url, dataDir: gateway.dataDir })
})

afterAll(async () => {
  await gateway.stop()
  rmSync(gateway.dataDir, { recursive: true, force: true })
  await mails.stop()
  await provider.stop()
})

/** A gateway with the provider, and where it listens. */
async function startWith(
  oidc: object,
  { config = {}, ...more }: GatewayOptions = {},
): Promise<{ gateway: TestGateway; url: string }> {
  const port = await freePort()
  const started = await startGateway({
    ...more,
    env: { PORT: String(port) },
    config: { ...config, server: { base_url: BASE }, auth: { oidc: { ...provider.config, ...oidc } } },
  })
  return { gateway: started, url: `http://127.0.0.1:${port}` }
}

const errorCode = ({ json }: ManagementAnswer): unknown => (json['error'] as Record<string, unknown>)['code']
const locationOf = ({ headers }: ManagementAnswer): URL => new URL(headers.get('location') ?? '')

const browserAt = (at = url): OpenIdBrowser => new OpenIdBrowser(provider, at, BASE)

let last = 0
/** A user with a password and this verified address. */
async function newUser(email: string): Promise<{ id: string; client: ManagementClient }> {
  last += 1
  const phone = `+1202555${String(8000 + last)}`
  const { json } = await admin.expect('adminCreateUser', 201, { body: { phone, name: 'Ada', password: PASSWORD } })
  const client = new ManagementClient(url)
  await client.login(phone, PASSWORD)
  await client.expect('changeEmail', 200, { body: { email, password: PASSWORD } })
  await client.expect('verifyEmail', 204, { body: { token: await mails.tokenTo(email) } })
  return { id: String(json['id']), client }
}

describe('a log-in through the provider', () => {
  it('makes a user at the first time, and finds it afterwards', async () => {
    provider.person = {
      subject: 'grace',
      claims: { name: 'Grace', email: 'grace@example.com', email_verified: true },
    }
    const browser = browserAt()
    const first = await browser.signIn()
    expect(first).toMatchObject({
      phone: null,
      name: 'Grace',
      email: 'grace@example.com',
      email_verified: true,
      role: 'user',
    })
    expect((await browser.client.expect('listSessions', 200)).json).toMatchObject({ total: 1 })
    provider.person = { subject: 'grace', claims: { name: 'Other', email: 'other@example.com', email_verified: true } }
    expect(await browserAt().signIn()).toMatchObject({ id: first['id'], name: 'Grace' })
    const audit = await admin.expect('adminAudit', 200, { query: { operation: 'oidcCallback' } })
    expect(JSON.stringify(audit.json)).toContain('"created":true')
  })

  it('asks with PKCE, state and nonce, and keeps them in a cookie that scripts and other paths do not see', async () => {
    const { client } = browserAt()
    const answer = await client.expect('oidcStart', 302)
    const query = locationOf(answer).searchParams
    expect(query.get('code_challenge_method')).toBe('S256')
    for (const name of ['code_challenge', 'state', 'nonce']) expect(query.get(name)?.length).toBeGreaterThan(20)
    expect(query.get('redirect_uri')).toBe(`${BASE}/api/auth/oidc/callback`)
    const cookie = answer.headers.get('set-cookie') ?? ''
    for (const part of ['HttpOnly', 'SameSite=Lax', 'Secure', 'Path=/api/auth/oidc', 'Max-Age=600']) {
      expect(cookie).toContain(part)
    }
    expect(cookie).not.toContain(query.get('state'))
  })

  it('gives the session once, and only to the browser that logged in', async () => {
    provider.person = { subject: 'once', claims: {} }
    const browser = browserAt()
    const code = await browser.code()
    expect(errorCode(await browserAt().token(code))).toBe('SIGN_IN_FAILED')
    const other = browserAt()
    await other.code()
    expect(errorCode(await other.token(code))).toBe('SIGN_IN_FAILED')
    expect((await browser.token(code)).status).toBe(200)
    expect(errorCode(await browser.token(code))).toBe('SIGN_IN_FAILED')
  })

  it('fails without its cookie, with that of another browser, and with another state or code', async () => {
    const browser = browserAt()
    const query = await browser.logIn()
    const failed = async (who: OpenIdBrowser, sent: Record<string, string>): Promise<void> => {
      const answer = await who.callback(sent)
      expect([answer.status, errorCode(answer)]).toEqual([401, 'SIGN_IN_FAILED'])
    }
    await failed(browserAt(), query)
    const other = browserAt()
    await other.start()
    await failed(other, query)
    await failed(browser, { ...query, state: 'x' })
    await failed(browser, { ...query, code: 'x' })
    const forged = browserAt()
    forged.cookie = `${browser.cookie.slice(0, -4)}AAAA`
    await failed(forged, query)
    expect((await browserAt().client.call('oidcToken', { body: {} })).status).toBe(400)
  })

  it('shows a failure to a browser in the console', async () => {
    provider.person = null
    const browser = browserAt()
    const answer = await browser.callback(await browser.logIn(), 'text/html,*/*')
    expect(answer.status).toBe(302)
    expect(locationOf(answer).href).toBe(`${BASE}/console/signed-in#error=SIGN_IN_FAILED`)
  })

  it('belongs to the user with the same address only when both sides have verified it', async () => {
    const ada = await newUser('ada@example.com')
    provider.person = { subject: 'unsure', claims: { email: 'ada@example.com', email_verified: false } }
    expect((await browserAt().signIn())['id']).not.toBe(ada.id)

    provider.person = { subject: 'sure', claims: { email: 'ADA@example.com', email_verified: true } }
    expect((await browserAt().signIn())['id']).toBe(ada.id)
    await ada.client.expect('me', 200)

    // Addresses are given to other people: another subject does not get the account.
    provider.person = { subject: 'heir', claims: { email: 'ada@example.com', email_verified: true } }
    const heir = browserAt()
    const answer = await heir.callback(await heir.logIn())
    expect([answer.status, errorCode(answer)]).toEqual([403, 'SIGN_IN_DENIED'])
  })

  it('takes the address from a user who has not verified it, and does not link that user', async () => {
    const phone = '+12025558900'
    const body = { phone, name: 'Ada', password: PASSWORD, email: 'claimed@example.com' }
    const { json: unproven } = await admin.expect('adminCreateUser', 201, { body })
    provider.person = { subject: 'claimed', claims: { email: 'claimed@example.com', email_verified: true } }
    const user = await browserAt().signIn()
    expect(user).toMatchObject({ email: 'claimed@example.com', email_verified: true })
    expect(user['id']).not.toBe(unproven['id'])
    const shown = await admin.expect('adminGetUser', 200, { params: { id: String(unproven['id']) } })
    expect(shown.json).toMatchObject({ email: null, email_verified: false })
  })

  it('makes a new user when that of the person was deleted', async () => {
    provider.person = { subject: 'back', claims: { email: 'back@example.com', email_verified: true } }
    const first = browserAt()
    const code = await browserAt().code()
    const { id } = await first.signIn()
    await admin.expect('adminDeleteUser', 204, { params: { id: String(id) } })
    expect(errorCode(await first.client.call('me'))).toBe('TOKEN_INVALID')
    expect(errorCode(await first.token(code))).toBe('SIGN_IN_FAILED')
    const next = await browserAt().signIn()
    expect(next).toMatchObject({ email: 'back@example.com', email_verified: true, enterprises: [] })
    expect(next['id']).not.toBe(id)
  })

  it('is told to consoles', async () => {
    const { json } = await browserAt().client.expect('signInMethods', 200)
    expect(json).toMatchObject({ oidc: { label: '127.0.0.1', start_path: '/api/auth/oidc/start' } })
  })

  it('is refused to a disabled user', async () => {
    provider.person = { subject: 'gone', claims: {} }
    const { id } = await browserAt().signIn()
    await admin.expect('adminUpdateUser', 200, { params: { id: String(id) }, body: { status: 'disabled' } })
    const browser = browserAt()
    expect(errorCode(await browser.callback(await browser.logIn()))).toBe('SIGN_IN_DENIED')
  })

  it('gives and takes the role on the platform by claims', async () => {
    provider.person = { subject: 'boss', claims: { groups: ['x', 'ai-admins'] } }
    const browser = browserAt()
    expect(await browser.signIn()).toMatchObject({ role: 'admin' })
    await browser.client.expect('adminListUsers', 200)
    provider.person = { subject: 'boss', claims: { groups: ['x'] } }
    expect(await browserAt().signIn()).toMatchObject({ role: 'user' })
    // The session as an admin is over.
    expect(errorCode(await browser.client.call('adminListUsers'))).toBe('TOKEN_INVALID')
  })

  it('gives no password to a user who has none', async () => {
    provider.person = { subject: 'passwordless', claims: {} }
    const browser = browserAt()
    await browser.signIn()
    const change = { old_password: PASSWORD, new_password: 'another long one' }
    expect(errorCode(await browser.client.call('changePassword', { body: change }))).toBe('CONFLICT')
    expect(errorCode(await browser.client.call('enrolTotp', { body: { password: PASSWORD } }))).toBe('CONFLICT')
  })
})

describe('memberships by claims', () => {
  itLater('come and go with the claims; those given by hand stay', async () => {
    const [byClaims, byHand] = await Promise.all(
      ['By claims', 'By hand'].map(async (name) =>
        String((await admin.expect('adminCreateEnterprise', 201, { body: { name } })).json['id']),
      ),
    )
    const rule = (value: string, enterprise: unknown, role: string): object => ({
      claim: 'groups',
      value,
      enterprise,
      enterprise_role: role,
    })
    const { dataDir, databaseUrl } = gateway
    await gateway.end('SIGTERM')
    const claims = [
      rule('staff', byClaims, 'employee'),
      rule('money', byClaims, 'finance'),
      rule('staff', byHand, 'admin'),
      rule('staff', 'ent_unknown', 'admin'),
    ]
    const database = databaseUrl === null ? {} : { database: { url: databaseUrl } }
    ;({ gateway, url } = await startWith({ claims }, { dataDir, ...database }))
    admin = await ManagementClient.ofAdmin({ url, dataDir })
    const mail = { email: 'member@example.com', email_verified: true }
    provider.person = { subject: 'member', claims: mail }
    const browser = browserAt()
    const { id } = await browser.signIn()
    const invited = await admin.expect('invite', 201, {
      params: { id: byHand ?? '' },
      body: { email: 'member@example.com', role: 'employee' },
    })
    await browser.client.expect('acceptInvitation', 200, { body: { token: invited.json['token'] } })

    const memberships = async (...groups: string[]): Promise<unknown> => {
      provider.person = { subject: 'member', claims: { groups } }
      const user = await browserAt().signIn()
      expect(user['id']).toBe(id)
      return (user['enterprises'] as Array<{ name: string; role: string }>).map(({ name, role }) => [name, role])
    }
    const hand = ['By hand', 'employee']
    expect(await memberships('staff')).toEqual([['By claims', 'employee'], hand])
    expect(await memberships('staff', 'money')).toEqual([['By claims', 'finance'], hand])
    expect(await memberships()).toEqual([hand])
    const { json } = await admin.expect('listEnterpriseAudit', 200, {
      params: { id: byClaims ?? '' },
      query: { operation: 'oidcCallback' },
    })
    expect(json['data']).toMatchObject(
      ['left', 'changed', 'joined'].map((membership) => ({ target_id: id, sent: { membership } })),
    )
  })
})

describe('a provider', () => {
  itLater('that nobody configured gives 404', async () => {
    const bare = await startGateway()
    const client = new ManagementClient(bare.url)
    const calls = [
      client.call('oidcStart'),
      client.call('oidcCallback'),
      client.call('oidcToken', { body: { code: 'x' } }),
    ]
    for (const answer of await Promise.all(calls))
      expect([answer.status, errorCode(answer)]).toEqual([404, 'NOT_FOUND'])
    await bare.stop()
  })

  itLater('that is down, or silent, gives 503, and passwords still work', async () => {
    const silent = createServer((socket) => socket.on('error', () => undefined).resume())
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const issuers = [
      `http://127.0.0.1:${await freePort()}`,
      `http://127.0.0.1:${(silent.address() as AddressInfo).port}`,
    ]
    for (const issuer of issuers) {
      const { gateway: lonely, url: at } = await startWith({ issuer })
      const client = new ManagementClient(at)
      const answer = await client.call('oidcStart')
      expect([answer.status, errorCode(answer)]).toEqual([503, 'ISSUER_UNAVAILABLE'])
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
      const shown = await client.call('oidcStart', { headers: { accept: 'text/html' } })
      expect(shown.headers.get('location')).toBe(`${BASE}/console/signed-in#error=ISSUER_UNAVAILABLE`)
      await ManagementClient.ofAdmin({ url: at, dataDir: lonely.dataDir })
      await eventually(() => {
        expect(lonely.output).toContain('the OpenID provider cannot be reached')
      })
      await lonely.stop()
    }
    await new Promise((resolve) => silent.close(resolve))
  })

  itLater('lets in only users who exist already, where create_users is off', async () => {
    const { gateway: strict, url: at } = await startWith({ create_users: false })
    provider.person = { subject: 'stranger', claims: {} }
    const browser = browserAt(at)
    expect(errorCode(await browser.callback(await browser.logIn()))).toBe('SIGN_IN_DENIED')
    await strict.stop()
  })
})
