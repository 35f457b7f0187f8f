import type { Static } from 'typebox'
import type { Account, Session } from '../../shared/api/operations/session.ts'
import type { Queryable } from '../store/database.ts'
import { listMemberships } from '../store/enterprises.ts'
import { boundSessions, noteSession } from '../store/sessions.ts'
import { findSignInState } from '../store/users.ts'
import type { User } from '../store/users.ts'
import type { ClientOrigin } from './guard.ts'
import { TOKEN_SECONDS } from './tokens.ts'
import type { Tokens } from './tokens.ts'

export type ShownUser = Pick<User, 'id' | 'phone' | 'name' | 'role' | 'email' | 'emailVerifiedAt'>

/** Begins the sessions of users: issues their tokens, and lists them. */
export class Sessions {
  readonly #database: Queryable
  readonly #tokens: Tokens
  readonly #currency: string

  /** `currency` is that of the installation. */
  constructor(database: Queryable, tokens: Tokens, { currency }: { readonly currency: string }) {
    this.#database = database
    this.#tokens = tokens
    this.#currency = currency
  }

  /** The session is of the generation of the row that was proven: a password that changed since then leaves it invalid. */
  async begin(
    user: ShownUser & Pick<User, 'sessionGeneration'>,
    origin: ClientOrigin,
  ): Promise<Static<typeof Session>> {
    const { sessionGeneration: generation } = user
    const account = await this.account(user)
    const { token, tokenId, userId, issuedAt, expiresAt } = await this.#tokens.issue({ userId: user.id, generation })
    await noteSession(this.#database, { id: tokenId, userId, generation, issuedAt, expiresAt, ...origin })
    await boundSessions(this.#database, userId)
    return { token, token_type: 'Bearer', expires_in: TOKEN_SECONDS, user: account }
  }

  async account({ id, phone, name, role, email, emailVerifiedAt }: ShownUser): Promise<Static<typeof Account>> {
    const [enterprises, { totp, pendingEmail }] = await Promise.all([
      listMemberships(this.#database, id),
      findSignInState(this.#database, id),
    ])
    return {
      id,
      phone,
      name,
      email,
      email_verified: emailVerifiedAt !== null,
      pending_email: pendingEmail,
      totp,
      role,
      enterprises,
      currency: this.#currency,
    }
  }
}

/** Returns the origin of the request of a call. */
export function originOf(call: {
  readonly address: string
  readonly message: { readonly headers: Readonly<Partial<Record<string, string>>> }
}): ClientOrigin {
  return { address: call.address, userAgent: call.message.headers['user-agent'] ?? '' }
}
