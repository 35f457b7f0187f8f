import { isServiceAccount } from '../../shared/core/service-account.ts'
import type { AuthStyle, Provider, UpstreamKey } from '../../shared/core/snapshot.ts'
import type { Clock } from '../../shared/runtime/clock.ts'
import { signAwsRequest } from './aws-signature.ts'
import type { AwsCredentials, AwsRequest } from './aws-signature.ts'
import { GoogleTokens } from './google-tokens.ts'
import type { UpstreamClient } from './upstream-client.ts'

/** The credential of one upstream call. It is in a header or in a signature, never in the URL, because URLs end up in logs. */
export interface CallCredential {
  /** Flat list of names and values: the headers that every call sends. Empty when calls are signed, or need no credential. */
  readonly headers: readonly string[]
  /** Null: calls are not signed. */
  readonly sign: ((request: AwsRequest, nowMs: number) => readonly string[]) | null
}

interface Cached {
  readonly auth: AuthStyle
  readonly secret: string
  readonly credential: CallCredential
}

/** Turns the keys of the configuration into what a call sends. No other folder of a front reads a key's `credential` to send it. */
export class Credentials {
  readonly #tokens: GoogleTokens
  /** An upstream call finds the same object for the same secret, so that its headers are built once. */
  readonly #cache = new WeakMap<UpstreamKey, Cached>()

  /** @param client fetches the access tokens of Google service accounts */
  constructor(client: UpstreamClient, clock: Clock) {
    this.#tokens = new GoogleTokens(client, clock)
  }

  /**
   * Returns a promise only when an access token must be fetched. Rejects with UPSTREAM_AUTH when the account is refused, else with the
   * error of the call.
   * @param auth the style of the called service, else that of the provider
   */
  of(key: UpstreamKey, auth: AuthStyle, provider: Provider): CallCredential | Promise<CallCredential> {
    if (auth !== 'google') return this.#cached(key, auth, key.credential)
    const token = this.#tokens.tokenFor(key.credential, provider)
    if (typeof token === 'string') return this.#cached(key, auth, token)
    return token.then((fetched) => this.#cached(key, auth, fetched))
  }

  /** The provider refused the key: the next call fetches a new access token. */
  refused(key: UpstreamKey): void {
    this.#tokens.forget(key.credential)
  }

  #cached(key: UpstreamKey, auth: AuthStyle, secret: string): CallCredential {
    const cached = this.#cache.get(key)
    if (cached?.auth === auth && cached.secret === secret) return cached.credential
    const credential = callCredential(auth, secret)
    this.#cache.set(key, { auth, secret, credential })
    return credential
  }
}

/** The host and the credentials of all keys of a provider: an answer for one key may name another key of the account. */
export function secretsOf({ baseUrl, keys }: Provider): string[] {
  return [new URL(baseUrl).host, ...keys.map(({ credential }) => credential)]
}

/** @param secret the key's credential; for a service account its access token */
export function callCredential(auth: AuthStyle, secret: string): CallCredential {
  if (auth === 'aws' && secret.includes(':')) {
    const keys = awsCredentials(secret)
    return { headers: [], sign: (request, nowMs) => Object.entries(signAwsRequest(request, keys, nowMs)).flat() }
  }
  return { headers: headersOf(auth, secret), sign: null }
}

function headersOf(auth: AuthStyle, secret: string): readonly string[] {
  switch (auth) {
    case 'none':
      return []
    case 'x-api-key':
    case 'api-key':
    case 'x-goog-api-key':
      return [auth, secret]
    case 'google':
      // The private key of a service account is never sent.
      return isServiceAccount(secret) ? [] : bearer(secret)
    case 'bearer':
    case 'aws':
      return bearer(secret)
  }
}

function bearer(secret: string): readonly string[] {
  return ['authorization', `Bearer ${secret}`]
}

/** @param secret `access key:secret key` or `access key:secret key:session token`; without a colon it is an API key */
function awsCredentials(secret: string): AwsCredentials {
  const [accessKeyId = '', secretAccessKey = '', ...token] = secret.split(':')
  return { accessKeyId, secretAccessKey, sessionToken: token.length === 0 ? null : token.join(':') }
}
