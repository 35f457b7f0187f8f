import { randomUUID } from 'node:crypto'
import type { Static } from 'typebox'
import type { Account, Session } from '../../shared/api/operations/session.ts'
import type { SESSION } from '../../shared/api/operations/session.ts'
import { systemClock } from '../../shared/runtime/clock.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Database, Queryable } from '../store/database.ts'
import { listMemberships } from '../store/enterprises.ts'
import { generationOf, revokeToken } from '../store/sessions.ts'
import { findUser, findUserByPhone, insertUser, updateUser } from '../store/users.ts'
import type { User } from '../store/users.ts'
import type { Handlers } from './call.ts'
import { acceptInvitation } from './add-member.ts'
import { LoginThrottle } from './login-throttle.ts'
import { hashPassword, verifyPassword } from './passwords.ts'
import { normalisePhone } from './phone.ts'
import { mapConstraintErrors } from './constraint-errors.ts'
import { TOKEN_SECONDS } from './tokens.ts'
import type { Tokens } from './tokens.ts'

export interface SessionParts {
  readonly database: Database
  /** Reads outside of the transaction of a change, so that no transaction is open while a password is hashed. */
  readonly reading: Queryable
  readonly tokens: Tokens
  /** Everybody may create an account. */
  readonly registrationOpen: boolean
}

type ShownUser = Pick<User, 'id' | 'phone' | 'name' | 'role'>

/** Registration, log-in with phone and password, log-out, and the caller's own account. */
export function sessionHandlers(parts: SessionParts): Handlers<keyof typeof SESSION> {
  const { database, reading, tokens, registrationOpen } = parts
  const throttle = new LoginThrottle({ clock: systemClock })

  const account = async ({ id, phone, name, role }: ShownUser): Promise<Static<typeof Account>> => ({
    id,
    phone,
    name,
    role,
    enterprises: await listMemberships(database, id),
  })
  const session = async (user: ShownUser): Promise<Static<typeof Session>> => ({
    token: await tokens.issue({ userId: user.id, generation: await generationOf(database, user.id) }),
    token_type: 'Bearer',
    expires_in: TOKEN_SECONDS,
    user: await account(user),
  })
  /** Checks the password, with limits on hashing and on guessing. Throws LOGIN_FAILED or LOGIN_THROTTLED. */
  const proven = (user: User | null, phone: string, password: string, address: string): Promise<User> =>
    throttle.login(phone, address, async () => {
      const active = user !== null && user.status === 'active'
      const matches = await verifyPassword(active ? user.passwordHash : null, password)
      if (!active || !matches) throw new GatewayError('LOGIN_FAILED')
      return user
    })

  return {
    login: async ({ body, address }) => {
      const phone = normalisePhone(body.phone)
      return session(await proven(await findUserByPhone(database, phone), phone, body.password, address))
    },

    register: async ({ body }) => {
      const { invitation_token: invitation } = body
      if (!registrationOpen && invitation === undefined) throw new GatewayError('REGISTRATION_CLOSED')
      const phone = normalisePhone(body.phone)
      const passwordHash = await throttle.inTurn(() => hashPassword(body.password, { phone }))
      const user: User = {
        id: `user_${randomUUID()}`,
        phone,
        name: body.name,
        passwordHash,
        role: 'user',
        status: 'active',
      }
      await database.transaction(async (tx) => {
        await mapConstraintErrors(
          { unique: { message: 'There is an account with this phone number.', param: '/phone' } },
          insertUser(tx, user),
        )
        if (invitation !== undefined) await acceptInvitation(tx, user.id, invitation)
      })
      return session(user)
    },

    logout: async ({ caller }) => {
      await revokeToken(database, caller.tokenId, caller.tokenExpiresAt)
      return null
    },

    me: async ({ caller }) => account(await present(findUser(database, caller.userId))),

    changePassword: async ({ body, caller, address }) => {
      const user = await present(findUser(reading, caller.userId))
      await proven(user, user.phone, body.old_password, address)
      const passwordHash = await throttle.inTurn(() =>
        hashPassword(body.new_password, { phone: user.phone, param: '/new_password' }),
      )
      return session(await present(updateUser(database, user.id, { passwordHash })))
    },
  }
}

/** The user of a token can be deleted right after the token was checked. */
async function present<Row>(found: Promise<Row | null>): Promise<Row> {
  const row = await found
  if (row === null) throw new GatewayError('TOKEN_INVALID')
  return row
}
