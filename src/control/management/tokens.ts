import { randomUUID } from 'node:crypto'
import { decodeJwt, SignJWT, jwtVerify } from 'jose'
import { GatewayError } from '../../shared/core/errors.ts'

/** A key that signs or verifies tokens, named in their header. */
export interface TokenKey {
  readonly kid: string
  readonly secret: Buffer
}

/** The user of a management token. */
export interface TokenSubject {
  readonly userId: string
  /** The session generation of the user; tokens of an earlier generation are invalid. */
  readonly generation: number
}

export interface VerifiedToken extends TokenSubject {
  readonly tokenId: string
  readonly issuedAt: Date
  readonly expiresAt: Date
}

export interface IssuedToken extends VerifiedToken {
  readonly token: string
}

export const TOKEN_SECONDS = 7 * 24 * 60 * 60

const ALGORITHM = 'HS256'
const ISSUER = 'sluice'
const ID = /^[\x21-\x7e]{1,200}$/
const AUDIENCE = 'sluice-management'

/** Signs and verifies management tokens (JWT, RFC 7519). The first key signs, all verify. */
export class Tokens {
  readonly #keys: readonly [TokenKey, ...TokenKey[]]

  constructor(keys: readonly [TokenKey, ...TokenKey[]]) {
    this.#keys = keys
  }

  /** Issues a token that is valid for `TOKEN_SECONDS`. */
  async issue(subject: TokenSubject): Promise<IssuedToken> {
    const now = Math.floor(Date.now() / 1000)
    const times = { issuedAt: dateOf(now), expiresAt: dateOf(now + TOKEN_SECONDS) }
    const verified = { ...subject, ...times, tokenId: randomUUID() }
    return { ...verified, token: await this.sign(verified) }
  }

  /** Signs a token with the given id and times. */
  async sign({ userId, generation, tokenId, issuedAt, expiresAt }: VerifiedToken): Promise<string> {
    const [key] = this.#keys
    return new SignJWT({ gen: generation })
      .setProtectedHeader({ alg: ALGORITHM, kid: key.kid, typ: 'JWT' })
      .setSubject(userId)
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setJti(tokenId)
      .setIssuedAt(issuedAt)
      .setExpirationTime(expiresAt)
      .sign(key.secret)
  }

  /** Throws TOKEN_INVALID unless these keys signed the token and it has not expired. */
  async verify(token: string): Promise<VerifiedToken> {
    try {
      const { payload } = await jwtVerify(
        token,
        (header) => {
          const key = this.#keys.find(({ kid }) => kid === header.kid)
          if (key === undefined) throw new Error('the token names an unknown key')
          return key.secret
        },
        { algorithms: [ALGORITHM], issuer: ISSUER, audience: AUDIENCE, requiredClaims: ['sub', 'jti', 'exp', 'iat'] },
      )
      // The claims may have any JSON type: jose checks only the times.
      const { sub, jti, exp, iat, gen }: Record<string, unknown> = payload
      if (!isId(sub) || !isId(jti) || ![exp, iat, gen].every((value) => Number.isSafeInteger(value))) {
        throw new Error('a claim of the token has the wrong type')
      }
      return { userId: sub, generation: Number(gen), tokenId: jti, issuedAt: dateOf(iat), expiresAt: dateOf(exp) }
    } catch (cause) {
      throw new GatewayError('TOKEN_INVALID', { cause })
    }
  }
}

/** Whether the token says that somebody else issued it; nothing is verified. */
export function namesOtherIssuer(token: string): boolean {
  try {
    return decodeJwt(token).iss !== ISSUER
  } catch {
    return false
  }
}

function dateOf(seconds: unknown): Date {
  return new Date(Number(seconds) * 1000)
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && ID.test(value)
}
