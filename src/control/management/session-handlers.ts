import { randomUUID } from 'node:crypto'
import type { Static } from 'typebox'
import type { SESSION, UserSession } from '../../shared/api/operations/session.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Database, Queryable } from '../store/database.ts'
import { dropMailedTokens } from '../store/mailed-tokens.ts'
import { endSession, listSessions, revokeToken } from '../store/sessions.ts'
import type { UserSession as StoredSession } from '../store/sessions.ts'
import { findUser, findUserByPhone, insertUser, updateUser } from '../store/users.ts'
import type { User } from '../store/users.ts'
import type { Handlers } from './call.ts'
import { joinByInvitation, openInvitation } from './add-member.ts'
import type { Credentials } from './credentials.ts'
import { normalisePhone } from './phone.ts'
import { mapConstraintErrors } from './constraint-errors.ts'
import { offsetOf, pageOf } from './pages.ts'
import type { SecondFactor } from './second-factor.ts'
import { originOf } from './sessions.ts'
import type { Sessions } from './sessions.ts'

export interface SessionParts {
  readonly database: Database
  /** Reads outside of the transaction of a change, so that no transaction is open while a password is hashed. */
  readonly reading: Queryable
  readonly sessions: Sessions
  readonly credentials: Credentials
  readonly secondFactor: SecondFactor
  /** Everybody may create an account. */
  readonly registrationOpen: boolean
}

const PHONE_TAKEN = { message: 'There is an account with this phone number.', param: '/phone' }
const EMAIL_TAKEN = {
  message: 'There is an account with the e-mail address of this invitation: log in and accept the invitation there.',
  param: '/invitation_token',
}

/** Registration, log-in with phone and password, sessions, and the caller's own account. */
export function sessionHandlers(parts: SessionParts): Handlers<keyof typeof SESSION> {
  const { database, reading, sessions, credentials, secondFactor, registrationOpen } = parts

  return {
    login: async (call) => {
      const { body, address } = call
      const phone = normalisePhone(body.phone)
      const guess = { name: phone, password: body.password, address }
      const user = await credentials.prove(await findUserByPhone(database, phone), guess, ({ id }) =>
        secondFactor.check(id, body.code),
      )
      return sessions.begin(user, originOf(call))
    },

    register: async (call) => {
      const { body, audit } = call
      const { invitation_token: invitation } = body
      if (!registrationOpen && invitation === undefined) throw new GatewayError('REGISTRATION_CLOSED')
      const phone = normalisePhone(body.phone)
      const passwordHash = await credentials.hash(body.password, { phone })
      return database.transaction(async (tx) => {
        const opened = invitation === undefined ? null : await openInvitation(tx, invitation)
        const user: User = {
          id: `user_${randomUUID()}`,
          phone,
          // The invitation is for this address. It is not verified: without a mail server, the inviting user passes the token on.
          email: opened?.email ?? null,
          emailVerifiedAt: null,
          name: body.name,
          passwordHash,
          role: 'user',
          status: 'active',
          sessionGeneration: 0,
        }
        if ((await findUserByPhone(tx, phone)) !== null) throw new GatewayError('CONFLICT', PHONE_TAKEN)
        const unique = user.email === null ? PHONE_TAKEN : EMAIL_TAKEN
        await mapConstraintErrors({ unique }, insertUser(tx, user))
        if (opened !== null) await joinByInvitation(tx, user, opened)
        const made = await sessions.begin(user, originOf(call))
        audit({ before: null, after: made.user, enterpriseId: opened?.enterpriseId ?? null })
        return made
      })
    },

    logout: async ({ caller }) => {
      await revokeToken(database, caller.tokenId, caller.tokenExpiresAt)
      return null
    },

    listSessions: async ({ caller, query }) => {
      const { sessions: listed, total } = await listSessions(database, caller.userId, offsetOf(query))
      return pageOf(listed, total, query, (one) => rendered(one, caller.tokenId))
    },

    endSession: async ({ caller, params }) => {
      if (await endSession(database, caller.userId, params.id)) return null
      throw new GatewayError('NOT_FOUND')
    },

    me: async ({ caller }) => sessions.account(await present(findUser(database, caller.userId))),

    changePassword: async (call) => {
      const { body, caller, address } = call
      const user = await present(findUser(reading, caller.userId))
      await credentials.proveCaller(user, body.old_password, address)
      const passwordHash = await credentials.hash(body.new_password, { phone: user.phone, param: '/new_password' })
      const change = { passwordHash, ifGeneration: user.sessionGeneration }
      const changed = await updateUser(database, user.id, change)
      if (changed === null) throw new GatewayError('LOGIN_FAILED')
      await dropMailedTokens(database, user.id, 'reset_password')
      return sessions.begin(changed, originOf(call))
    },
  }
}

function rendered(session: StoredSession, currentId: string): Static<typeof UserSession> {
  const { id, userAgent, address, createdAt, lastUsedAt, expiresAt } = session
  return {
    id,
    current: id === currentId,
    user_agent: userAgent,
    address,
    created_at: createdAt.toISOString(),
    last_used_at: lastUsedAt.toISOString(),
    expires_at: expiresAt.toISOString(),
  }
}

/** The user of a token can be deleted right after the token was checked. */
async function present<Row>(found: Promise<Row | null>): Promise<Row> {
  const row = await found
  if (row === null) throw new GatewayError('TOKEN_INVALID')
  return row
}
