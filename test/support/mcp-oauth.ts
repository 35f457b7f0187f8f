import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import type {
  OAuthClientInformationMixed,
  OAuthClientMetadata,
  OAuthTokens,
} from '@modelcontextprotocol/sdk/shared/auth.js'

/** The memory of a client that logs in by OAuth: it registers itself, and keeps the address to which a browser has to go. */
export class OAuthMemory implements OAuthClientProvider {
  readonly redirectUrl = 'http://127.0.0.1:1/callback'
  client: OAuthClientInformationMixed | undefined
  kept: OAuthTokens | undefined
  browserUrl: URL | null = null
  /** Asked for in place of the gateway, where it is set. */
  resource: URL | null = null
  #verifier = ''

  get clientMetadata(): OAuthClientMetadata {
    return {
      client_name: 'a client of tools',
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    }
  }

  clientInformation(): OAuthClientInformationMixed | undefined {
    return this.client
  }

  saveClientInformation(client: OAuthClientInformationMixed): void {
    this.client = client
  }

  tokens(): OAuthTokens | undefined {
    return this.kept
  }

  saveTokens(tokens: OAuthTokens): void {
    this.kept = tokens
  }

  redirectToAuthorization(url: URL): void {
    this.browserUrl = url
  }

  validateResourceURL(serverUrl: string | URL): Promise<URL> {
    return Promise.resolve(this.resource ?? new URL(serverUrl))
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier
  }

  codeVerifier(): string {
    return this.#verifier
  }
}
