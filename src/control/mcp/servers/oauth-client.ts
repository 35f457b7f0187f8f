import {
  checkResourceAllowed,
  discoverOAuthServerInfo,
  exchangeAuthorization,
  extractWWWAuthenticateParams,
  OAuthError,
  refreshAuthorization,
  registerClient,
  resourceUrlFromServerUrl,
  startAuthorization,
} from '@modelcontextprotocol/client'
import type {
  AuthorizationServerMetadata,
  OAuthClientInformationMixed,
  OAuthTokens,
} from '@modelcontextprotocol/client'
import { GatewayError } from '../../../shared/core/errors.ts'
import type { ToolServer } from '../../../shared/core/tool-server.ts'
import { gatewayErrorIn } from './server-errors.ts'
import { oauthFetch, refuseOutside } from './oauth-fetch.ts'
import type { Fetch, TransportParts } from './transports.ts'

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' }
const MAX_TOKEN_CHARACTERS = 32_768
/** A token is renewed this long before it ends, or after three quarters of a shorter life. */
const EARLY_MS = 60_000

/** The authorization server of a tool server, and what to ask it for. */
export interface Authority {
  readonly metadata: AuthorizationServerMetadata
  /** The resource indicator (RFC 8707). */
  readonly resource: string
  readonly scope: string | null
}

/** The parameters of a token request besides the code or the refresh token. */
export interface TokenSource {
  /** The address of the server that the token is for. Nobody else gets it. */
  readonly url: string
  readonly metadata: AuthorizationServerMetadata
  readonly resource: string
  readonly client: OAuthClientInformationMixed
}

/** A consent that a user has begun. */
export interface PendingConsent extends TokenSource {
  readonly verifier: string
  readonly redirectUrl: string
}

/** The secrets of a grant. */
export interface GrantSecrets extends TokenSource {
  readonly accessToken: string
  readonly refreshToken: string | null
  /** Null: the token does not say when it ends. */
  readonly renewAtMs: number | null
}

/** The answer of an authorization server refuses the grant, and not only this attempt. */
export class GrantRefused extends Error {
  readonly isClient: boolean

  /** @param isClient it does not know our client any more */
  constructor(isClient: boolean, cause: unknown) {
    super('the authorization server refuses the grant', { cause })
    this.isClient = isClient
  }
}

/** The client that an admin has registered at the authorization server; null: the gateway registers itself. */
export function configuredClient({ oauth, clientSecret }: ToolServer): OAuthClientInformationMixed | null {
  const clientId = oauth?.clientId ?? null
  if (clientId === null) return null
  return { client_id: clientId, ...(clientSecret === null ? {} : { client_secret: clientSecret }) }
}

/** The client of OAuth for one tool server. Its errors are GatewayErrors, and GrantRefused. */
export class OAuthClient {
  readonly #server: ToolServer
  readonly #url: string
  readonly #parts: TransportParts
  readonly #fetch: Fetch

  constructor(server: ToolServer, url: string, parts: TransportParts) {
    this.#server = server
    this.#url = url
    this.#parts = parts
    this.#fetch = oauthFetch(server, url, parts)
  }

  /** Asks the server who authorises (RFC 9728), and that one for its metadata (RFC 8414, OpenID Connect Discovery). */
  discover(): Promise<Authority> {
    return this.#guarded(async () => {
      const challenge = await this.#challenge()
      const { resourceMetadataUrl } = challenge
      const found = await discoverOAuthServerInfo(this.#url, {
        fetchFn: this.#fetch,
        ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
      })
      const { authorizationServerMetadata: metadata, resourceMetadata } = found
      if (metadata === undefined) throw failed('it names no authorization server')
      const own = resourceUrlFromServerUrl(this.#url)
      const resource = resourceMetadata?.resource ?? own.href
      if (!checkResourceAllowed({ requestedResource: own, configuredResource: resource })) {
        throw failed('its metadata is for another resource')
      }
      for (const address of [metadata.authorization_endpoint, metadata.token_endpoint]) {
        refuseOutside(new URL(address), this.#isPublicOnly(address), this.#parts)
      }
      const { scopes = [] } = this.#server.oauth ?? {}
      const named = challenge.scope ?? resourceMetadata?.scopes_supported?.join(' ') ?? null
      return { metadata, resource, scope: scopes.length > 0 ? scopes.join(' ') : named }
    })
  }

  /** Registers the gateway (RFC 7591). */
  register({ metadata, scope }: Authority, redirectUrl: string): Promise<OAuthClientInformationMixed> {
    return this.#guarded(async () => {
      if (metadata.registration_endpoint === undefined) {
        throw failed('its authorization server registers no clients: an admin has to set oauth_client_id')
      }
      const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
      const known = ['client_secret_basic', 'client_secret_post', 'none'].find((method) => methods.includes(method))
      return registerClient(metadata.issuer, {
        metadata,
        clientMetadata: {
          client_name: 'Sluice',
          redirect_uris: [redirectUrl],
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
          application_type: 'web',
          ...(known === undefined ? {} : { token_endpoint_auth_method: known }),
        },
        ...(scope === null ? {} : { scope }),
        fetchFn: this.#fetch,
      })
    })
  }

  /** The address at which a user authorises `client`. PKCE is S256. */
  begin(
    { metadata, resource, scope }: Authority,
    client: OAuthClientInformationMixed,
    { redirectUrl, state }: { readonly redirectUrl: string; readonly state: string },
  ): Promise<{ readonly authorizationUrl: string; readonly pending: PendingConsent }> {
    return this.#guarded(async () => {
      const { authorizationUrl, codeVerifier } = await startAuthorization(metadata.issuer, {
        metadata,
        clientInformation: client,
        redirectUrl,
        state,
        resource,
        ...(scope === null ? {} : { scope }),
      })
      const pending = { url: this.#url, metadata, resource, client, verifier: codeVerifier, redirectUrl }
      return { authorizationUrl: authorizationUrl.href, pending }
    })
  }

  /** @param iss the issuer as the browser brought it (RFC 9207) */
  finish(
    pending: PendingConsent,
    { code, iss }: { readonly code: string; readonly iss: string | undefined },
  ): Promise<GrantSecrets & { readonly scope: string | null }> {
    return this.#guarded(async () => {
      const { verifier, redirectUrl, ...source } = pending
      const tokens = await exchangeAuthorization(source.metadata.issuer, {
        metadata: source.metadata,
        clientInformation: source.client,
        authorizationCode: code,
        codeVerifier: verifier,
        redirectUri: redirectUrl,
        resource: source.resource,
        fetchFn: this.#fetch,
        ...(iss === undefined ? {} : { iss }),
      })
      return { ...grantOf(source, tokens, null), scope: tokens.scope ?? null }
    })
  }

  renew({ refreshToken, ...grant }: GrantSecrets): Promise<GrantSecrets> {
    return this.#guarded(async () => {
      if (refreshToken === null) throw new GrantRefused(false, null)
      const { url, metadata, resource, client } = grant
      const tokens = await refreshAuthorization(metadata.issuer, {
        metadata,
        clientInformation: client,
        refreshToken,
        resource,
        fetchFn: this.#fetch,
      })
      return grantOf({ url, metadata, resource, client }, tokens, refreshToken)
    })
  }

  #isPublicOnly(address: string): boolean {
    return this.#server.source === 'stored' || new URL(address).origin !== new URL(this.#url).origin
  }

  /** The answer of the server to a message without a token. */
  async #challenge(): Promise<ReturnType<typeof extractWWWAuthenticateParams>> {
    const response = await this.#fetch(this.#url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify(PING),
    })
    const said = response.status === 401 ? extractWWWAuthenticateParams(response) : {}
    await response.body?.cancel()
    return said
  }

  /** Texts of HTTP answers are left out: whoever chose the address must not read them. */
  async #guarded<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } catch (cause) {
      if (cause instanceof GrantRefused) throw cause
      const own = gatewayErrorIn(cause)
      if (own !== null) throw own
      const code = OAuthError.isInstance(cause) ? cause.code : null
      if (code === 'invalid_grant') throw new GrantRefused(false, cause)
      if (code === 'invalid_client' || code === 'unauthorized_client') throw new GrantRefused(true, cause)
      const isPlain = code !== null && /^[a-z_]{1,40}$/.test(code)
      throw failed(isPlain ? `the answer was ${code}` : 'an answer was not valid', cause)
    }
  }
}

function grantOf(source: TokenSource, tokens: OAuthTokens, refreshToken: string | null): GrantSecrets {
  const { access_token: accessToken, token_type: type, expires_in: seconds, refresh_token: newer } = tokens
  if (type.toLowerCase() !== 'bearer') throw failed('the token is not a bearer token')
  if (accessToken.length > MAX_TOKEN_CHARACTERS || !/^[\x21-\x7e]+$/.test(accessToken)) {
    throw failed('the token is not valid')
  }
  const lifeMs = seconds === undefined ? null : Math.max(0, seconds) * 1_000
  return {
    ...source,
    accessToken,
    refreshToken: newer ?? refreshToken,
    renewAtMs: lifeMs === null ? null : Date.now() + lifeMs - Math.min(EARLY_MS, lifeMs / 4),
  }
}

function failed(reason: string, cause?: unknown): GatewayError {
  return new GatewayError('UPSTREAM_AUTH', {
    message: `The authorization at the tool server failed: ${reason}.`,
    ...(cause === undefined ? {} : { cause }),
  })
}
