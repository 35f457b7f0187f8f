import type { Access, OperationSpec } from '../../shared/api/operation.ts'
import { mayDo } from '../../shared/api/roles.ts'
import type { EnterpriseAction, EnterpriseRole } from '../../shared/api/roles.ts'
import { bearerToken, isSameSecret } from '../../shared/core/bearer.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Queryable } from '../store/database.ts'
import { findStanding } from '../store/enterprises.ts'
import { findSession, noteSession } from '../store/sessions.ts'
import type { Caller } from './call.ts'
import type { Tokens } from './tokens.ts'

export interface GuardOptions {
  readonly database: Queryable
  readonly tokens: Tokens
  /** The bearer secret that metrics scrapers send in place of a token. */
  readonly scraperSecret: string | null
  /** False: platform admins read captured bodies of enterprises only where they have the right as members. */
  readonly platformAdminsReadBodies: boolean
}

/** The origin of a request. */
export interface ClientOrigin {
  readonly address: string
  readonly userAgent: string
}

/** The use of a session is stored once in this time. */
const NOTED_EVERY_MS = 60_000

/** Authenticates and authorises the caller. */
export class Guard {
  readonly #options: GuardOptions

  constructor(options: GuardOptions) {
    this.#options = options
  }

  /** Returns null for operations without log-in. Throws TOKEN_INVALID. */
  async identify(access: Access, authorization: string | undefined, origin: ClientOrigin): Promise<Caller | null> {
    if (access === 'everyone' || (access === 'scraper' && this.#isScraper(authorization))) return null
    return this.#caller(authorization, origin)
  }

  /**
   * Returns the caller with the role for this call. Throws ROLE_DENIED, or NOT_FOUND for the enterprise of others, as for one that
   * does not exist. A deleted enterprise exists for platform admins alone, who may read all of it; changes throw CONFLICT.
   *
   * @param enterpriseId the enterprise of an enterprise action
   */
  async admit(
    caller: Caller | null,
    { access, method }: Pick<OperationSpec, 'access' | 'method'>,
    enterpriseId: string,
  ): Promise<Caller | null> {
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
        return { ...caller, enterpriseRole: await this.#roleToAct(caller, access, method, enterpriseId) }
    }
  }

  /** Returns the caller with the role for reading captured bodies by this operation. Throws as `admit`. */
  async admitToBodies(caller: Caller | null, spec: OperationSpec, enterpriseId: string): Promise<Caller | null> {
    const { bodiesAccess: access, method } = spec
    if (caller === null || access === undefined) throw new GatewayError('ROLE_DENIED')
    const isKept = caller.role === 'admin' && !this.#options.platformAdminsReadBodies
    if (isKept && access === 'platform-admin') {
      throw new GatewayError('ROLE_DENIED', {
        message: 'Admins of the platform may not read captured bodies here: capture.platform_admins is false.',
      })
    }
    const admitted = await this.admit(isKept ? { ...caller, role: 'user' } : caller, { access, method }, enterpriseId)
    return admitted === null ? null : { ...admitted, role: caller.role }
  }

  async #roleToAct(
    { userId, role }: Caller,
    action: EnterpriseAction,
    method: OperationSpec['method'],
    enterpriseId: string,
  ): Promise<EnterpriseRole> {
    const standing = await findStanding(this.#options.database, userId, enterpriseId)
    if (standing === null) throw new GatewayError('NOT_FOUND')
    const isDeleted = standing.status === 'deleted'
    if (role === 'admin') {
      if (isDeleted && method !== 'GET') throw enterpriseDeleted()
      return 'owner'
    }
    if (standing.role === null || isDeleted) throw new GatewayError('NOT_FOUND')
    if (standing.status === 'disabled') throw new GatewayError('ENTERPRISE_DISABLED')
    if (!mayDo(standing.role, action)) throw new GatewayError('ROLE_DENIED')
    return standing.role
  }

  #isScraper(authorization: string | undefined): boolean {
    const { scraperSecret } = this.#options
    const sent = bearerToken(authorization)
    return scraperSecret !== null && sent !== null && isSameSecret(sent, scraperSecret)
  }

  async #caller(authorization: string | undefined, origin: ClientOrigin): Promise<Caller> {
    const token = bearerToken(authorization)
    if (token === null) throw new GatewayError('TOKEN_INVALID', { message: 'Send a token as Authorization: Bearer.' })
    const { database, tokens } = this.#options
    const { userId, tokenId, generation, issuedAt, expiresAt } = await tokens.verify(token)
    const session = await findSession(database, userId, tokenId)
    const isGood = session?.status === 'active' && !session.revoked && session.generation === generation
    if (!isGood) throw new GatewayError('TOKEN_INVALID')
    if (session.lastUsedAt === null || Date.now() - session.lastUsedAt.getTime() > NOTED_EVERY_MS) {
      await noteSession(database, { id: tokenId, userId, generation, issuedAt, expiresAt, ...origin })
    }
    return { userId, role: session.role, enterpriseRole: null, tokenId, tokenExpiresAt: expiresAt, generation }
  }
}

/** The refusal of a change in an enterprise that is deleted. */
export function enterpriseDeleted(): GatewayError {
  return new GatewayError('CONFLICT', { message: 'This enterprise is deleted: it can be read, but not changed.' })
}
