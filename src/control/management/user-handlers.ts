import { randomUUID } from 'node:crypto'
import type { Static } from 'typebox'
import type { User as ShownUser, USERS } from '../../shared/api/operations/users.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Database } from '../store/database.ts'
import { findUser, insertUser, listUsers, updateUser } from '../store/users.ts'
import type { ListedUser } from '../store/users.ts'
import type { Handlers } from './call.ts'
import { orNotFound } from './or-not-found.ts'
import { offsetOf, pageOf } from './pages.ts'
import { hashPassword } from './passwords.ts'
import { normalisePhone } from './phone.ts'
import { mapConstraintErrors } from './constraint-errors.ts'

/** The users of the platform, for platform admins. */
export function userHandlers(database: Database): Handlers<keyof typeof USERS> {
  return {
    adminListUsers: async ({ query }) => {
      const { search, status } = query
      const { users, total } = await listUsers(database, { search, status }, offsetOf(query))
      return pageOf(users, total, query, rendered)
    },

    adminCreateUser: async ({ body }) => {
      const { name, role = 'user' } = body
      const id = `user_${randomUUID()}`
      const phone = normalisePhone(body.phone)
      const passwordHash = await hashPassword(body.password, { phone })
      await mapConstraintErrors(
        { unique: { message: 'There is a user with this phone number.', param: '/phone' } },
        insertUser(database, { id, phone, name, passwordHash, role, status: 'active' }),
      )
      return rendered(orNotFound(await findUser(database, id)))
    },

    adminGetUser: async ({ params }) => rendered(orNotFound(await findUser(database, params.id))),

    adminUpdateUser: async ({ params, body, caller }) => {
      const { name, role, status, password } = body
      const isOneself = params.id === caller.userId
      if (isOneself && (status === 'disabled' || role === 'user')) {
        throw new GatewayError('CONFLICT', { message: 'Another admin has to do this: you would lock yourself out.' })
      }
      const { phone } = orNotFound(await findUser(database, params.id))
      const passwordHash = password === undefined ? undefined : await hashPassword(password, { phone })
      return rendered(orNotFound(await updateUser(database, params.id, { name, role, status, passwordHash })))
    },
  }
}

function rendered({ id, phone, name, role, status, createdAt }: ListedUser): Static<typeof ShownUser> {
  return { id, phone, name, role, status, created_at: createdAt.toISOString() }
}
