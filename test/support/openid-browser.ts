import { expect } from 'vitest'
import { ManagementClient } from './management-client.ts'
import type { ManagementAnswer } from './management-client.ts'
import type { OpenIdProvider } from './openid-provider.ts'

const cookieOf = ({ headers }: ManagementAnswer): string => (headers.get('set-cookie') ?? '').split(';')[0] ?? ''
const locationOf = ({ headers }: ManagementAnswer): URL => new URL(headers.get('location') ?? '')

/** A browser at a gateway, which keeps the cookie of the log-in. */
export class OpenIdBrowser {
  readonly client: ManagementClient
  cookie = ''

  readonly #provider: OpenIdProvider
  /** The address at which browsers see the gateway, as it says. */
  readonly #baseUrl: string

  /** @param url where the gateway listens */
  constructor(provider: OpenIdProvider, url: string, baseUrl: string) {
    this.client = new ManagementClient(url)
    this.#provider = provider
    this.#baseUrl = baseUrl
  }

  async start(): Promise<URL> {
    const answer = await this.client.expect('oidcStart', 302, { headers: { cookie: this.cookie } })
    this.cookie = cookieOf(answer)
    return locationOf(answer)
  }

  /** From the start to the address at which the provider sends the browser back. */
  async logIn(): Promise<Record<string, string>> {
    const back = await this.#provider.logIn((await this.start()).href)
    expect(back.href).toContain(`${this.#baseUrl}/api/auth/oidc/callback?`)
    return Object.fromEntries(back.searchParams)
  }

  async callback(query: Record<string, string>, accept = '*/*'): Promise<ManagementAnswer> {
    const answer = await this.client.call('oidcCallback', { query, headers: { cookie: this.cookie, accept } })
    if (answer.status === 302) this.cookie = cookieOf(answer)
    return answer
  }

  token(code: string): Promise<ManagementAnswer> {
    return this.client.call('oidcToken', { body: { code }, headers: { cookie: this.cookie } })
  }

  /** The code that the console gets. */
  async code(): Promise<string> {
    const answer = await this.callback(await this.logIn())
    expect(answer.status, answer.text).toBe(302)
    const location = locationOf(answer)
    expect(location.origin + location.pathname).toBe(`${this.#baseUrl}/console/signed-in`)
    return new URLSearchParams(location.hash.slice(1)).get('code') ?? ''
  }

  /** The whole log-in. Returns the user. */
  async signIn(): Promise<Record<string, unknown>> {
    const answer = await this.token(await this.code())
    expect(answer.status, answer.text).toBe(200)
    this.client.token = String(answer.json['token'])
    return (await this.client.expect('me', 200)).json
  }
}
