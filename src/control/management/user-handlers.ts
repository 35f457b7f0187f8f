import { randomUUID } from 'node:crypto'
import type { Static } from 'typebox'
import type { User as ShownUser, USERS } from '../../shared/api/operations/users.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Database, Queryable } from '../store/database.ts'
import { countAdmins } from '../store/identities.ts'
import { dropMailedTokens } from '../store/mailed-tokens.ts'
import {
  deleteUser,
  findUser,
  findUserByPhone,
  insertUser,
  listOwnedAlone,
  listUsers,
  updateUser,
} from '../store/users.ts'
import type { ListedUser } from '../store/users.ts'
import type { Handlers } from './call.ts'
import { orNotFound } from './or-not-found.ts'
import { offsetOf, pageOf } from './pages.ts'
import { hashPassword } from './passwords.ts'
import { normalisePhone } from './phone.ts'
import { mapConstraintErrors } from './constraint-errors.ts'

const TAKEN = { message: 'There is a user with this phone number.', param: '/phone' }
const EMAIL_TAKEN = { message: 'There is a user with this e-mail address.', param: '/email' }
const YOURSELF = 'Another admin has to do this: you would lock yourself out.'

/** The users of the platform, for platform admins. */
export function userHandlers(database: Database, onErased: () => void): Handlers<keyof typeof USERS> {
  return {
    adminListUsers: async ({ query }) => {
      const { search, status, role } = query
      const { users, total } = await listUsers(database, { search, status, role }, offsetOf(query))
      return pageOf(users, total, query, rendered)
    },

    adminCreateUser: async ({ body }) => {
      const { name, role = 'user', email = null } = body
      const id = `user_${randomUUID()}`
      const phone = normalisePhone(body.phone)
      const passwordHash = await hashPassword(body.password, { phone })
      if ((await findUserByPhone(database, phone)) !== null) throw new GatewayError('CONFLICT', TAKEN)
      await mapConstraintErrors(
        { unique: email === null ? TAKEN : EMAIL_TAKEN },
        insertUser(database, { id, phone, name, passwordHash, role, status: 'active', email }),
      )
      return rendered(orNotFound(await findUser(database, id)))
    },

    adminGetUser: async ({ params }) => rendered(orNotFound(await findUser(database, params.id))),

    adminUpdateUser: async ({ params, body, caller }) => {
      const { name, email, role, status, password } = body
      const isOneself = params.id === caller.userId
      if (isOneself && (status === 'disabled' || role === 'user')) {
        throw new GatewayError('CONFLICT', { message: YOURSELF })
      }
      const user = orNotFound(await findUser(database, params.id))
      if (user.status === 'deleted') {
        throw new GatewayError('CONFLICT', { message: 'This user is deleted: it can be read, but not changed.' })
      }
      const passwordHash = password === undefined ? undefined : await hashPassword(password, user)
      const change = { name, email, role, status, passwordHash }
      const changed = orNotFound(
        await mapConstraintErrors({ unique: EMAIL_TAKEN }, updateUser(database, params.id, change)),
      )
      if (isAdmin(user) && (role === 'user' || status === 'disabled')) await keepAnAdmin(database)
      // Links to an earlier address, or from before a new password, must not work any more.
      if (email !== undefined) await dropMailedTokens(database, params.id, null)
      else if (passwordHash !== undefined) await dropMailedTokens(database, params.id, 'reset_password')
      return rendered(changed)
    },

    adminDeleteUser: async ({ params, caller, afterCommit }) => {
      if (params.id === caller.userId) throw new GatewayError('CONFLICT', { message: YOURSELF })
      await database.transaction(async (tx) => {
        const alone = await listOwnedAlone(tx, params.id)
        if (alone.length > 0) throw onlyOwnerOf(alone)
        const user = await findUser(tx, params.id)
        if (!(await deleteUser(tx, params.id))) throw new GatewayError('NOT_FOUND')
        if (user !== null && isAdmin(user)) await keepAnAdmin(tx)
      })
      afterCommit(onErased)
      return null
    },
  }
}

function isAdmin({ role, status }: ListedUser): boolean {
  return role === 'admin' && status === 'active'
}

/** Throws CONFLICT when nobody is an admin any more. Call it after the change: two admins can remove each other at the same time. */
async function keepAnAdmin(tx: Queryable): Promise<void> {
  if ((await countAdmins(tx)) > 0) return
  throw new GatewayError('CONFLICT', {
    message: 'This is the last admin of the platform: make another user an admin first.',
  })
}

/** Names at most this many enterprises. */
const MAX_NAMED = 5

function onlyOwnerOf(enterprises: ReadonlyArray<{ readonly id: string; readonly name: string }>): GatewayError {
  const named = enterprises.slice(0, MAX_NAMED).map(({ id, name }) => `${name} (${id})`)
  const others = enterprises.length - named.length
  return new GatewayError('CONFLICT', {
    message:
      `This user is the only owner of ${named.join(', ')}${others > 0 ? ` and ${others} others` : ''}: ` +
      'make another member an owner, or delete the enterprise, first.',
  })
}

function rendered(user: ListedUser): Static<typeof ShownUser> {
  const { id, phone, email, emailVerifiedAt, name, role, status, createdAt, deletedAt } = user
  return {
    id,
    phone,
    email,
    email_verified: emailVerifiedAt !== null,
    name,
    role,
    status,
    created_at: createdAt.toISOString(),
    deleted_at: deletedAt?.toISOString() ?? null,
  }
}
