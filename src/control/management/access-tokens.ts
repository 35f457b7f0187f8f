import { createHash } from 'node:crypto'
import { createRemoteJWKSet, customFetch, errors, jwtVerify } from 'jose'
import type { JWTPayload, JWTVerifyGetKey } from 'jose'
import type { OidcConfig } from '../../shared/config/shape.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Queryable } from '../store/database.ts'
import { findIdentityWithToken } from '../store/identities.ts'
import { boundSessions } from '../store/sessions.ts'
import { isSubject } from './oidc-claims.ts'
import { boundedFetch, DEADLINE_S, isUnreachable, reasonOf } from './oidc-client.ts'
import type { OidcClient, OidcLogger } from './oidc-client.ts'
import type { Tokens } from './tokens.ts'

export interface AccessTokensOptions {
  readonly database: Queryable
  readonly tokens: Tokens
  readonly config: OidcConfig
  readonly client: OidcClient
  readonly logger: OidcLogger
}

/** Signatures with a public key. A secret that both sides know signs no access token. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
const MAX_CLOCK_DIFFERENCE_S = 30
const MAX_TOKEN = 16 * 1024

/**
 * Access tokens (JWT, RFC 9068) of the OpenID provider for the tool server (RFC 8707). Each is a session of its user: it is in the list
 * of sessions, and the user can end it there.
 */
export class AccessTokens {
  readonly #options: AccessTokensOptions
  #keys: { readonly uri: string; readonly find: JWTVerifyGetKey } | null = null

  constructor(options: AccessTokensOptions) {
    this.#options = options
  }

  /**
   * Verifies an access token. Resolves to a token of this gateway for the same user, which ends with it. Throws TOKEN_INVALID,
   * ISSUER_UNAVAILABLE, or SIGN_IN_DENIED for a person who has no account.
   */
  async exchange(accessToken: string): Promise<string> {
    const { database, tokens, config } = this.#options
    const { sub: subject, exp, iat } = await this.#verify(accessToken)
    // Claims may have any JSON type.
    if (typeof subject !== 'string' || !isSubject(subject) || !isTime(exp)) {
      throw new GatewayError('TOKEN_INVALID')
    }
    const tokenId = `oidc_${createHash('sha256').update(accessToken).digest('base64url')}`
    const found = await findIdentityWithToken(database, { issuer: config.issuer, subject }, tokenId)
    if (found === null) {
      const console = new URL(config.startPath, config.redirectUrl).href
      throw new GatewayError('SIGN_IN_DENIED', {
        message: `You have no account here yet. Log in once with a browser at ${console}, then try again.`,
      })
    }
    const { userId, generation, wasUsed } = found
    if (!wasUsed) await boundSessions(database, userId)
    const issuedAt = isTime(iat) ? new Date(iat * 1000) : new Date()
    return tokens.sign({ userId, generation, tokenId, issuedAt, expiresAt: new Date(exp * 1000) })
  }

  async #verify(accessToken: string): Promise<JWTPayload> {
    const { config, client, logger } = this.#options
    if (accessToken.length > MAX_TOKEN) throw new GatewayError('TOKEN_INVALID')
    const { issuer, jwksUri } = await client.signer()
    if (jwksUri === null) throw new GatewayError('TOKEN_INVALID')
    try {
      const { payload } = await jwtVerify(accessToken, this.#keysAt(jwksUri), {
        algorithms: ALGORITHMS,
        issuer,
        audience: [...config.mcpAudiences],
        requiredClaims: ['sub', 'exp'],
        clockTolerance: MAX_CLOCK_DIFFERENCE_S,
      })
      return payload
    } catch (cause) {
      if (isUnreachable(cause) || isOfKeys(cause)) {
        logger.warn({ reason: reasonOf(cause) }, 'the keys of the OpenID provider cannot be read')
        throw new GatewayError('ISSUER_UNAVAILABLE', { retryAfterSeconds: DEADLINE_S, cause })
      }
      throw new GatewayError('TOKEN_INVALID', { cause })
    }
  }

  /** The keys are fetched once; again for an unknown one, at most every 30 s. */
  #keysAt(uri: string): JWTVerifyGetKey {
    if (this.#keys?.uri !== uri) {
      const find = createRemoteJWKSet(new URL(uri), {
        timeoutDuration: DEADLINE_S * 1000,
        [customFetch]: boundedFetch,
      })
      this.#keys = { uri, find }
    }
    return this.#keys.find
  }
}

/** Whether the keys could not be read: `ERR_JOSE_GENERIC` stands for an answer that is not 200 or no JSON. */
function isOfKeys(cause: unknown): boolean {
  if (cause instanceof errors.JWKSTimeout || cause instanceof errors.JWKSInvalid) return true
  return cause instanceof errors.JOSEError && cause.code === 'ERR_JOSE_GENERIC'
}

/** Whether a claim is a time in seconds that dates can have. */
function isTime(claim: unknown): claim is number {
  return Number.isSafeInteger(claim) && !Number.isNaN(new Date(Number(claim) * 1000).getTime())
}
