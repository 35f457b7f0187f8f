import { randomUUID } from 'node:crypto'
import { SignJWT, jwtVerify } from 'jose'
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
  readonly expiresAt: Date
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

  async issue(subject: TokenSubject): Promise<string> {
    const [key] = this.#keys
    return new SignJWT({ gen: subject.generation })
      .setProtectedHeader({ alg: ALGORITHM, kid: key.kid, typ: 'JWT' })
      .setSubject(subject.userId)
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setJti(randomUUID())
      .setIssuedAt()
      .setExpirationTime(`${TOKEN_SECONDS}s`)
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
      const { sub, jti, exp, gen }: Record<string, unknown> = payload
      if (!isId(sub) || !isId(jti) || !Number.isSafeInteger(exp) || !Number.isSafeInteger(gen)) {
        throw new Error('a claim of the token has the wrong type')
      }
      return { userId: sub, generation: Number(gen), tokenId: jti, expiresAt: new Date(Number(exp) * 1000) }
    } catch (cause) {
      throw new GatewayError('TOKEN_INVALID', { cause })
    }
  }
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && ID.test(value)
}
