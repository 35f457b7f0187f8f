import { SignJWT, importPKCS8 } from 'jose'
import type { Clock } from '../../shared/runtime/clock.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { GrowingBody } from '../../shared/runtime/growing-body.ts'
import { isServiceAccount } from '../../shared/core/service-account.ts'
import type { ServiceAccount } from '../../shared/core/service-account.ts'
import type { Provider, UpstreamTimeouts } from '../../shared/core/snapshot.ts'
import type { UpstreamCall, UpstreamClient, UpstreamListener } from './upstream-client.ts'

const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'
const ASSERTION_SECONDS = 3600
/** A token is renewed when it has less than this left; it is still used meanwhile. */
const RENEW_MS = 300_000
/** A token with less than this left is not used: it could expire before the request arrives. */
const LAST_USE_MS = 10_000
const MAX_ANSWER_BYTES = 65_536
/** The cache is cleared at this size, so that accounts of earlier configurations do not stay. */
const MAX_ACCOUNTS = 1_000
const TIMEOUTS: UpstreamTimeouts = { connectMs: 5_000, firstByteMs: 10_000, idleMs: 10_000, totalMs: 20_000 }

type Bound = Pick<Provider, 'publicOnly'>

interface Token {
  readonly value: string
  readonly untilMs: number
}

/** Fetches access tokens of Google service accounts, caches them, and renews them before they expire. */
export class GoogleTokens {
  readonly #client: UpstreamClient
  readonly #clock: Clock
  readonly #tokens = new Map<string, Token>()
  readonly #fetching = new Map<string, Promise<string>>()

  constructor(client: UpstreamClient, clock: Clock) {
    this.#client = client
    this.#clock = clock
  }

  /**
   * The credential to send: the access token of a service account, else `credential` itself. Returns a promise only when it must
   * fetch a token. Rejects with UPSTREAM_AUTH when the account is refused, else with the error of the call.
   * @param bound of the upstream: with `publicOnly`, the account's token URI must have a public address
   */
  tokenFor(credential: string, bound: Bound = {}): string | Promise<string> {
    if (!isServiceAccount(credential)) return credential
    const leftMs = (this.#tokens.get(credential)?.untilMs ?? 0) - this.#clock.now()
    if (leftMs > RENEW_MS) return this.#tokens.get(credential)?.value ?? ''
    const fetched = this.#fetching.get(credential) ?? this.#fetch(credential, bound)
    if (leftMs <= LAST_USE_MS) return fetched
    // The cached token is valid for some minutes, so this request does not wait. If the renewal fails, a later request tries again.
    fetched.catch(() => undefined)
    return this.#tokens.get(credential)?.value ?? fetched
  }

  /** Removes a token that the provider refused: the next request fetches a new one. */
  forget(credential: string): void {
    this.#tokens.delete(credential)
  }

  #fetch(credential: string, bound: Bound): Promise<string> {
    const fetching = this.#exchange(credential, bound).finally(() => {
      this.#fetching.delete(credential)
    })
    this.#fetching.set(credential, fetching)
    return fetching
  }

  async #exchange(credential: string, bound: Bound): Promise<string> {
    const account = JSON.parse(credential) as ServiceAccount
    const answer = await this.#post(account.token_uri, await this.#assertion(account), bound)
    const { access_token: value, expires_in: seconds } = answer
    if (typeof value !== 'string' || value === '' || typeof seconds !== 'number') {
      throw new GatewayError('UPSTREAM_INVALID_ANSWER', {
        detail: 'the answer to the token request has no access token',
      })
    }
    if (this.#tokens.size >= MAX_ACCOUNTS) this.#tokens.clear()
    this.#tokens.set(credential, { value, untilMs: this.#clock.now() + seconds * 1000 })
    return value
  }

  async #assertion(account: ServiceAccount): Promise<string> {
    const issuedAt = Math.floor(this.#clock.now() / 1000)
    const keyId = account.private_key_id === null ? null : { kid: account.private_key_id }
    try {
      return await new SignJWT({ scope: SCOPE })
        .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...keyId })
        .setIssuer(account.client_email)
        .setAudience(account.token_uri)
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + ASSERTION_SECONDS)
        .sign(await importPKCS8(account.private_key, 'RS256'))
    } catch (cause) {
      throw new GatewayError('UPSTREAM_AUTH', { cause, detail: 'the private key of the service account is unusable' })
    }
  }

  #post(
    tokenUri: string,
    assertion: string,
    { publicOnly = false }: Bound,
  ): Promise<Readonly<Record<string, unknown>>> {
    const { origin, pathname, search } = new URL(tokenUri)
    const body = Buffer.from(new URLSearchParams({ grant_type: GRANT, assertion }).toString())
    const headers = ['content-type', 'application/x-www-form-urlencoded', 'accept', 'application/json']
    return new Promise((resolve, reject) => {
      const listener = new TokenListener(resolve, reject)
      listener.call = this.#client.send(
        { origin, path: pathname + search, method: 'POST', headers, body, timeouts: TIMEOUTS, publicOnly },
        listener,
      )
    })
  }
}

class TokenListener implements UpstreamListener {
  call: UpstreamCall | null = null
  readonly #resolve: (answer: Readonly<Record<string, unknown>>) => void
  readonly #reject: (error: GatewayError) => void
  readonly #body = new GrowingBody()
  #status = 0

  constructor(resolve: (answer: Readonly<Record<string, unknown>>) => void, reject: (error: GatewayError) => void) {
    this.#resolve = resolve
    this.#reject = reject
  }

  onHead(status: number): void {
    this.#status = status
  }

  onData(chunk: Buffer): void {
    this.#body.append(chunk)
    if (this.#body.length <= MAX_ANSWER_BYTES) return
    this.#body.clear()
    this.call?.abort()
    this.onError(new GatewayError('UPSTREAM_INVALID_ANSWER', { detail: 'the answer to a token request is too large' }))
  }

  onEnd(): void {
    if (this.#status !== 200) {
      this.onError(refusal(this.#status))
      return
    }
    try {
      const value: unknown = JSON.parse(this.#body.take().toString('utf8'))
      this.#resolve(typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {})
    } catch (cause) {
      this.onError(
        new GatewayError('UPSTREAM_INVALID_ANSWER', { cause, detail: 'the answer to the token request is not JSON' }),
      )
    }
  }

  onError(error: GatewayError): void {
    // Not UPSTREAM_UNREACHABLE, which would count against the provider: its other keys may need no token.
    const isAway = error.code === 'UPSTREAM_UNREACHABLE'
    const detail = 'the token server of the service account cannot be reached'
    this.#reject(isAway ? new GatewayError('UPSTREAM_ERROR', { cause: error, detail }) : error)
  }
}

/** The error for a refused token request. It has only the status, because the answer's text may name the account. */
function refusal(status: number): GatewayError {
  const isRefused = status >= 400 && status < 500 && status !== 408 && status !== 429
  return new GatewayError(isRefused ? 'UPSTREAM_AUTH' : 'UPSTREAM_ERROR', {
    detail: `HTTP ${status} to a request for an access token`,
  })
}
