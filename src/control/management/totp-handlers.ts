import { GatewayError } from '../../shared/core/errors.ts'
import type { TOTP } from '../../shared/api/operations/totp.ts'
import type { Database, Queryable } from '../store/database.ts'
import { removeTotp } from '../store/totp.ts'
import { findUser } from '../store/users.ts'
import type { User } from '../store/users.ts'
import type { Caller, Handlers } from './call.ts'
import type { Credentials } from './credentials.ts'
import type { SecondFactor } from './second-factor.ts'

export interface TotpParts {
  readonly database: Database
  /** Reads outside of the transaction of a change. */
  readonly reading: Queryable
  readonly credentials: Credentials
  readonly secondFactor: SecondFactor
}

const TURNED_ON = { before: { totp: false }, after: { totp: true } }
const TURNED_OFF = { before: { totp: true }, after: { totp: false } }

/** One-time passwords as a second factor. */
export function totpHandlers(parts: TotpParts): Handlers<keyof typeof TOTP> {
  const { database, reading, credentials, secondFactor } = parts
  const present = async ({ userId }: Caller): Promise<User> => {
    const user = await findUser(reading, userId)
    if (user === null) throw new GatewayError('TOKEN_INVALID')
    return user
  }

  return {
    enrolTotp: async ({ body, caller, address }) => {
      const user = await credentials.proveCaller(await present(caller), body.password, address)
      return secondFactor.enrol(database, user.id, user.phone ?? user.email ?? user.name)
    },

    confirmTotp: async ({ body, caller, audit }) => {
      const recoveryCodes = await secondFactor.confirm(database, caller.userId, body.code)
      audit(TURNED_ON)
      return { recovery_codes: recoveryCodes }
    },

    renewRecoveryCodes: async ({ body, caller, address }) => {
      const { password, code } = body
      if (password === undefined && code === undefined) {
        throw new GatewayError('INVALID_FIELD', { message: 'Give password or code.', param: '/password' })
      }
      const user = await present(caller)
      await secondFactor.requireOn(user.id)
      if (password !== undefined) await credentials.proveCaller(user, password, address)
      if (code !== undefined) await secondFactor.check(user.id, code)
      return { recovery_codes: await secondFactor.renewRecoveryCodes(database, user.id) }
    },

    disableTotp: async ({ body, caller, address, audit }) => {
      const user = await credentials.proveCaller(await present(caller), body.password, address)
      await secondFactor.requireOn(user.id)
      await secondFactor.check(user.id, body.code)
      await removeTotp(database, user.id)
      audit(TURNED_OFF)
      return null
    },

    adminResetTotp: async ({ params, audit }) => {
      if (!(await removeTotp(database, params.id))) throw new GatewayError('NOT_FOUND')
      audit(TURNED_OFF)
      return null
    },
  }
}
