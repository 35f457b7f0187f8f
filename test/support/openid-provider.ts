import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'

/** The claims of the person who logs in, besides the subject. */
export interface Person {
  readonly subject: string
  readonly claims: Readonly<Record<string, unknown>>
}

export const CLIENT = { id: 'sluice', secret: 'a secret of the client' } as const

interface RegisteredClients {
  find(id: string): Promise<object | undefined>
  upsert(id: string, client: object): Promise<void>
  destroy(id: string): Promise<void>
}

/** An OpenID provider on loopback. Whoever comes is logged in as `person`, without a page in between. */
export class OpenIdProvider {
  person: Person | null = { subject: 'ada', claims: {} }
  /** The life of access tokens for a resource, which are JWTs. */
  accessTokenSeconds = 3_600
  /** Whether a code brings a refresh token, also without the scope `offline_access`. */
  refreshes = false
  /** Requests to the token endpoint, by their grant. */
  readonly grants: string[] = []
  /** Refresh tokens are of no use any more. */
  refusesRefresh = false
  readonly #server: Server
  #provider: Provider | null = null

  private constructor() {
    this.#server = createServer((request, response) => {
      const provider = this.#provider
      if (provider === null) {
        response.destroy()
      } else if (request.url?.startsWith('/interaction/') === true) {
        const result = this.person === null ? { error: 'access_denied' } : { login: { accountId: this.person.subject } }
        provider.interactionFinished(request, response, result).catch(() => response.destroy())
      } else if (this.refusesRefresh && request.url === '/token') {
        response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}')
      } else {
        void provider.callback()(request, response)
      }
    })
  }

  static async start(redirectUrl: string, { refreshes = false } = {}): Promise<OpenIdProvider> {
    const started = new OpenIdProvider()
    started.refreshes = refreshes
    await new Promise<void>((resolve) => started.#server.listen(0, '127.0.0.1', resolve))
    started.#provider = started.#create(redirectUrl)
    started.#provider.on('grant.success', ({ oidc }) => {
      started.grants.push(String(oidc.params?.['grant_type']))
    })
    return started
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** The `auth.oidc` section of a configuration. */
  get config(): Record<string, unknown> {
    return {
      issuer: this.issuer,
      client_id: CLIENT.id,
      client_secret: CLIENT.secret,
      scopes: ['openid', 'profile', 'email', 'groups'],
    }
  }

  /** Goes to `url` as a browser, and returns the address at which the provider sends it back to the gateway. */
  async logIn(url: string): Promise<URL> {
    const cookies = new Map<string, string>()
    let next = new URL(url)
    for (let step = 0; step < 10; step++) {
      if (next.origin !== this.issuer) return next
      const cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
      const response = await fetch(next, { redirect: 'manual', headers: { cookie } })
      await response.arrayBuffer()
      for (const set of response.headers.getSetCookie()) {
        const [name = '', value = ''] = (set.split(';')[0] ?? '').split(/=(.*)/s)
        cookies.set(name, value)
      }
      const location = response.headers.get('location')
      if (location === null) throw new Error(`the provider stopped at ${next.pathname} with ${response.status}`)
      next = new URL(location, next)
    }
    throw new Error('the provider redirects without an end')
  }

  /** Registers a client that sends its secret in a header. */
  async register(redirectUrl: string): Promise<{ readonly client_id: string; readonly client_secret: string }> {
    const grants = { grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] }
    const response = await fetch(`${this.issuer}/reg`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: [redirectUrl], ...grants }),
    })
    if (response.status !== 201) throw new Error(`not registered: ${await response.text()}`)
    return (await response.json()) as { client_id: string; client_secret: string }
  }

  /** Gives a registered client another secret; null: forgets the client. */
  async changeClient(id: string, secret: string | null): Promise<void> {
    const { adapter } = this.#provider?.Client as unknown as { readonly adapter: RegisteredClients }
    const known = await adapter.find(id)
    if (known === undefined) throw new Error(`no registered client ${id}`)
    if (secret === null) await adapter.destroy(id)
    else await adapter.upsert(id, { ...known, client_secret: secret })
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #create(redirectUrl: string): Provider {
    return new Provider(this.issuer, {
      clients: [
        {
          client_id: CLIENT.id,
          client_secret: CLIENT.secret,
          redirect_uris: [redirectUrl],
          token_endpoint_auth_method: 'client_secret_post',
        },
      ],
      ...(this.refreshes
        ? { issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'), rotateRefreshToken: true }
        : {}),
      cookies: { keys: ['a key for cookies'] },
      claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'], groups: ['groups'] },
      features: {
        devInteractions: { enabled: false },
        registration: { enabled: true },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => [],
          useGrantedResource: () => true,
          getResourceServerInfo: (_, resource) => ({
            scope: 'openid',
            audience: resource,
            accessTokenFormat: 'jwt',
            accessTokenTTL: this.accessTokenSeconds,
            jwt: { sign: { alg: 'RS256' } },
          }),
        },
      },
      interactions: { url: (_, { uid }) => `/interaction/${uid}` },
      findAccount: (_, accountId) => ({
        accountId,
        claims: () => ({ ...this.person?.claims, sub: accountId }),
      }),
      loadExistingGrant: async (context) => {
        const { session, client } = context.oidc
        const grant = new context.oidc.provider.Grant({
          ...(session?.accountId === undefined ? {} : { accountId: session.accountId }),
          ...(client === undefined ? {} : { clientId: client.clientId }),
        })
        grant.addOIDCScope('openid profile email groups')
        const resource = context.oidc.params?.['resource']
        if (typeof resource === 'string') grant.addResourceScope(resource, 'openid')
        await grant.save()
        return grant
      },
    })
  }
}
