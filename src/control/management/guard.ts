import type { Access } from '../../shared/api/operation.ts'
import { mayDo } from '../../shared/api/roles.ts'
import type { EnterpriseAction, EnterpriseRole } from '../../shared/api/roles.ts'
import { bearerToken, isSameSecret } from '../../shared/core/bearer.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Queryable } from '../store/database.ts'
import { findStanding } from '../store/enterprises.ts'
import { findSession } from '../store/sessions.ts'
import type { Caller } from './call.ts'
import type { Tokens } from './tokens.ts'

export interface GuardOptions {
  readonly database: Queryable
  readonly tokens: Tokens
  /** The bearer secret that metrics scrapers send in place of a token. */
  readonly scraperSecret: string | null
}

/** Authenticates and authorises the caller. */
export class Guard {
  readonly #options: GuardOptions

  constructor(options: GuardOptions) {
    this.#options = options
  }

  /** Returns null for operations without log-in. Throws TOKEN_INVALID. */
  async identify(access: Access, authorization: string | undefined): Promise<Caller | null> {
    if (access === 'everyone' || (access === 'scraper' && this.#isScraper(authorization))) return null
    return this.#caller(authorization)
  }

  /**
   * Returns the caller with the role for this call. Throws ROLE_DENIED, or NOT_FOUND for the enterprise of others, as for one that
   * does not exist.
   *
   * @param enterpriseId the enterprise of an enterprise action
   */
  async admit(caller: Caller | null, access: Access, enterpriseId: string): Promise<Caller | null> {
    if (caller === null) return null
    switch (access) {
      case 'everyone':
      case 'user':
        return caller
      case 'scraper':
      case 'platform-admin':
        if (caller.role !== 'admin') throw new GatewayError('ROLE_DENIED')
        return caller
      default:
        return { ...caller, enterpriseRole: await this.#roleToAct(caller, access, enterpriseId) }
    }
  }

  async #roleToAct({ userId, role }: Caller, action: EnterpriseAction, enterpriseId: string): Promise<EnterpriseRole> {
    const standing = await findStanding(this.#options.database, userId, enterpriseId)
    if (standing === null) throw new GatewayError('NOT_FOUND')
    if (role === 'admin') return 'owner'
    if (standing.role === null) throw new GatewayError('NOT_FOUND')
    if (standing.status === 'disabled') throw new GatewayError('ENTERPRISE_DISABLED')
    if (!mayDo(standing.role, action)) throw new GatewayError('ROLE_DENIED')
    return standing.role
  }

  #isScraper(authorization: string | undefined): boolean {
    const { scraperSecret } = this.#options
    const sent = bearerToken(authorization)
    return scraperSecret !== null && sent !== null && isSameSecret(sent, scraperSecret)
  }

  async #caller(authorization: string | undefined): Promise<Caller> {
    const token = bearerToken(authorization)
    if (token === null) throw new GatewayError('TOKEN_INVALID', { message: 'Send a token as Authorization: Bearer.' })
    const { userId, tokenId, generation, expiresAt } = await this.#options.tokens.verify(token)
    const session = await findSession(this.#options.database, userId, tokenId)
    const isGood = session?.status === 'active' && !session.revoked && session.generation === generation
    if (!isGood) throw new GatewayError('TOKEN_INVALID')
    return { userId, role: session.role, enterpriseRole: null, tokenId, tokenExpiresAt: expiresAt }
  }
}
