import { parsePhoneNumberFromString } from 'libphonenumber-js/min'
import { GatewayError } from '../core/errors.ts'
import type { Queryable } from '../store/database.ts'
import { findUserByPhone } from '../store/users.ts'
import { LoginThrottle } from './login-throttle.ts'
import { verifyPassword } from './passwords.ts'
import type { ManagementRoute } from './router.ts'
import { TOKEN_SECONDS } from './tokens.ts'
import type { Tokens } from './tokens.ts'

/** Logging in: phone and password for a token. */
export function authRoutes(database: Queryable, tokens: Tokens): readonly ManagementRoute[] {
  const throttle = new LoginThrottle()
  return [
    {
      method: 'POST',
      path: '/api/auth/login',
      allow: 'everyone',
      handle: async ({ json, request }) => {
        const phone = normalisePhone(field(json, 'phone'))
        const password = field(json, 'password')
        return throttle.run([`phone ${phone}`, `address ${request.address}`], async () => {
          const user = await findUserByPhone(database, phone)
          const active = user !== null && user.status === 'active'
          const matches = await verifyPassword(active ? user.passwordHash : null, password)
          if (!active || !matches) throw new GatewayError('LOGIN_FAILED')
          return {
            token: await tokens.issue({ userId: user.id, role: user.role }),
            token_type: 'Bearer',
            expires_in: TOKEN_SECONDS,
            user: { id: user.id, phone: user.phone, name: user.name, role: user.role, enterprises: [] },
          }
        })
      },
    },
  ]
}

function field(json: unknown, name: string): string {
  const value = typeof json === 'object' && json !== null ? (json as Record<string, unknown>)[name] : undefined
  if (typeof value !== 'string' || value === '') {
    throw new GatewayError('INVALID_FIELD', {
      message: `${name} must be a string that is not empty.`,
      param: `/${name}`,
    })
  }
  return value
}

/** E.164. Numbers need their country code. */
function normalisePhone(text: string): string {
  const phone = parsePhoneNumberFromString(text)
  if (phone === undefined) {
    throw new GatewayError('INVALID_FIELD', {
      message: 'phone must be a phone number with its country code, like +12025550100.',
      param: '/phone',
    })
  }
  return phone.number
}
