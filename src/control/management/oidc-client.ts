import type * as Oidc from 'openid-client'
import type { OidcConfig } from '../../shared/config/shape.ts'
import { GatewayError } from '../../shared/core/errors.ts'

/** The secrets that the browser keeps between the start and the callback of a log-in, sealed in a cookie. */
export interface PendingSignIn {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/** A person, as the provider describes them. */
export type Claims = Readonly<Record<string, unknown>> & { readonly sub: string }

export interface OidcLogger {
  warn(context: object, message: string): void
}

/** For each request to the provider. */
export const DEADLINE_S = 5
const DISCOVERY_MS = 3_600_000
const MAX_ANSWER_BYTES = 1_048_576

/** Talks to the OpenID provider. Every call has a deadline, and the answer to the discovery is kept for an hour. */
export class OidcClient {
  readonly #config: OidcConfig
  readonly #logger: OidcLogger
  #found: { readonly provider: Oidc.Configuration; readonly atMs: number } | null = null
  #discovery: Promise<Oidc.Configuration> | null = null

  constructor(config: OidcConfig, logger: OidcLogger) {
    this.#config = config
    this.#logger = logger
  }

  /** Throws ISSUER_UNAVAILABLE. */
  async begin(): Promise<{ readonly url: string; readonly pending: PendingSignIn }> {
    const [oidc, provider] = await Promise.all([library(), this.#provider()])
    const pending = { state: oidc.randomState(), nonce: oidc.randomNonce(), verifier: oidc.randomPKCECodeVerifier() }
    const url = oidc.buildAuthorizationUrl(provider, {
      redirect_uri: this.#config.redirectUrl,
      scope: this.#config.scopes.join(' '),
      state: pending.state,
      nonce: pending.nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(pending.verifier),
      code_challenge_method: 'S256',
    })
    return { url: url.href, pending }
  }

  /** The name of the provider in its tokens, and the address of the keys that sign them. Throws ISSUER_UNAVAILABLE. */
  async signer(): Promise<{ readonly issuer: string; readonly jwksUri: string | null }> {
    const { issuer, jwks_uri: jwksUri = null } = (await this.#provider()).serverMetadata()
    return { issuer, jwksUri }
  }

  /** Throws ISSUER_UNAVAILABLE or SIGN_IN_FAILED. @param query what the provider gave the browser */
  async finish(query: Readonly<Record<string, string>>, pending: PendingSignIn): Promise<Claims> {
    const [oidc, provider] = await Promise.all([library(), this.#provider()])
    const url = new URL(this.#config.redirectUrl)
    url.search = new URLSearchParams(query).toString()
    try {
      const tokens = await oidc.authorizationCodeGrant(provider, url, {
        expectedState: pending.state,
        expectedNonce: pending.nonce,
        pkceCodeVerifier: pending.verifier,
        idTokenExpected: true,
      })
      const claims = tokens.claims()
      if (claims === undefined) throw new Error('the provider sent no ID token')
      // Many providers put only the subject into the ID token.
      if (provider.serverMetadata().userinfo_endpoint === undefined) return claims
      return { ...(await oidc.fetchUserInfo(provider, tokens.access_token, claims.sub)), ...claims }
    } catch (cause) {
      const isDown = isUnreachable(cause)
      this.#logger.warn({ reason: reasonOf(cause) }, 'a log-in through the OpenID provider failed')
      throw new GatewayError(isDown ? 'ISSUER_UNAVAILABLE' : 'SIGN_IN_FAILED', { cause })
    }
  }

  async #provider(): Promise<Oidc.Configuration> {
    if (this.#found !== null && Date.now() - this.#found.atMs < DISCOVERY_MS) return this.#found.provider
    this.#discovery ??= this.#discover().finally(() => {
      this.#discovery = null
    })
    try {
      return await this.#discovery
    } catch (cause) {
      this.#logger.warn({ reason: reasonOf(cause) }, 'the OpenID provider cannot be reached')
      if (this.#found !== null) return this.#found.provider
      throw new GatewayError('ISSUER_UNAVAILABLE', { retryAfterSeconds: DEADLINE_S, cause })
    }
  }

  async #discover(): Promise<Oidc.Configuration> {
    const oidc = await library()
    const { issuer, clientId, clientSecret } = this.#config
    const server = new URL(issuer)
    // The configuration allows http:// on loopback alone.
    const isPlain = server.protocol === 'http:'
    const [post, basic] = [oidc.ClientSecretPost(clientSecret), oidc.ClientSecretBasic(clientSecret)]
    const clientAuth: Oidc.ClientAuth = (as, ...request) =>
      (as.token_endpoint_auth_methods_supported?.includes('client_secret_post') === true ? post : basic)(as, ...request)
    const provider = await oidc.discovery(server, clientId, undefined, clientAuth, {
      timeout: DEADLINE_S,
      [oidc.customFetch]: boundedFetch,
      execute: [oidc.enableNonRepudiationChecks, ...(isPlain ? [oidc.allowInsecureRequests] : [])],
    })
    this.#found = { provider, atMs: Date.now() }
    return provider
  }
}

/** Loaded at the first log-in: most gateways have no provider of log-ins. */
function library(): Promise<typeof Oidc> {
  return import('openid-client')
}

/** Fetches with a bound on the body, which is read within the deadline of the request. */
export async function boundedFetch(url: string, options: object): Promise<Response> {
  const response = await fetch(url, options)
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of response.body ?? []) {
    bytes += (piece as Uint8Array).length
    if (bytes > MAX_ANSWER_BYTES)
      throw new TypeError(`an answer of the OpenID provider is above ${MAX_ANSWER_BYTES} bytes`)
    pieces.push(piece as Uint8Array)
  }
  const { status, headers } = response
  const hasBody = status !== 204 && status !== 304 && response.body !== null
  return new Response(hasBody ? Buffer.concat(pieces) : null, { status, headers })
}

/** Whether no proper answer came: a broken connection, a deadline, or an error of the server. */
export function isUnreachable(cause: unknown): boolean {
  for (let error = cause; error instanceof Error; error = error.cause) {
    const { code, status, name } = error as { code?: unknown; status?: unknown; name: string }
    if (code === 'OAUTH_TIMEOUT' || name === 'TimeoutError' || name === 'AbortError') return true
    if (typeof code === 'string' && /^(E[A-Z]+|UND_ERR_.*)$/.test(code)) return true
    if (typeof status === 'number' && status >= 500) return true
    if (error.cause instanceof Response && error.cause.status >= 500) return true
  }
  return false
}

/** The causes of an error in one line. It names no code, token or secret: messages of the library do not. */
export function reasonOf(cause: unknown): string {
  const reasons: string[] = []
  for (let error = cause; error instanceof Error && reasons.length < 4; error = error.cause) {
    const { error: refusal, error_description: description } = error as { error?: unknown; error_description?: unknown }
    const told = [refusal, description].filter((text) => typeof text === 'string').join(': ')
    reasons.push(told === '' ? error.message : `${error.message} (${told.slice(0, 200)})`)
  }
  return reasons.join(': ')
}
