import { randomBytes } from 'node:crypto'
import { GatewayError } from '../../shared/core/errors.ts'
import { systemClock } from '../../shared/runtime/clock.ts'
import type { OidcConfig } from '../../shared/config/shape.ts'
import type { ACCOUNT } from '../../shared/api/operations/account.ts'
import { insertAuditEntry } from '../store/audit-log.ts'
import type { AuditEntry } from '../store/audit-log.ts'
import type { Database, Queryable } from '../store/database.ts'
import { dropMailedTokens, findMailedToken, insertMailedToken, takeMailedToken } from '../store/mailed-tokens.ts'
import type { MailedPurpose } from '../store/mailed-tokens.ts'
import {
  findUser,
  findUserByPhone,
  findUserByVerifiedEmail,
  lockUser,
  releaseEmail,
  setVerifiedEmail,
  updateUser,
} from '../store/users.ts'
import type { User } from '../store/users.ts'
import { digestOfToken } from './add-member.ts'
import type { Handlers } from './call.ts'
import { mapConstraintErrors } from './constraint-errors.ts'
import type { Credentials } from './credentials.ts'
import { passwordResetEmail, verificationEmail } from './emails.ts'
import { customerOf } from './login-failures.ts'
import type { Mailer } from './mailer.ts'
import { normalisePhone } from './phone.ts'
import { RateWindow } from './rate-window.ts'
import type { Sessions } from './sessions.ts'

export interface AccountParts {
  readonly database: Database
  /** Reads outside of the transaction of a change. */
  readonly reading: Queryable
  readonly sessions: Sessions
  readonly credentials: Credentials
  /** Null: no e-mail is sent. */
  readonly mailer: Mailer | null
  /** Null: it is not configured. */
  readonly consoleUrl: string | null
  readonly registrationOpen: boolean
  /** Null: there is no OpenID provider. */
  readonly oidc: OidcConfig | null
  readonly onFault: (cause: unknown) => void
}

const MINUTE_MS = 60_000
const RESET_MS = 30 * MINUTE_MS
const VERIFICATION_MS = 24 * 60 * MINUTE_MS
/** Searches for the users of requested resets at the same time; further ones are dropped. */
const MAX_SEARCHES = 20

/** Password resets, and the e-mail addresses of users. */
export function accountHandlers(parts: AccountParts): Handlers<keyof typeof ACCOUNT> {
  const { database, reading, sessions, credentials } = parts
  const requests = new RateWindow(systemClock, { calls: 10, perMs: 15 * MINUTE_MS })
  const changes = new RateWindow(systemClock, { calls: 5, perMs: 60 * MINUTE_MS })
  let searches = 0

  const mailReset = async (name: UserName, post: Post, origin: Origin): Promise<void> => {
    const user =
      'phone' in name
        ? await findUserByPhone(database, name.phone)
        : await findUserByVerifiedEmail(database, name.email)
    if (!mayReset(user) || !post.mailer.hasRoom) return
    const token = await mailedToken(database, { userId: user.id, email: user.email, purpose: 'reset_password' })
    // The limit of a user is silent: nobody may learn whether others asked for this user, and earlier e-mails are still good.
    if (token === null) return
    await insertAuditEntry(database, mailedEntry(user.id, origin))
    post.mailer.send(passwordResetEmail(user.email, `${post.consoleUrl}/reset-password#token=${token}`))
  }

  /** Searches for the user beside the response, whose time would otherwise tell whether there is one. */
  const mailResetTo = (name: UserName, post: Post, origin: Origin): void => {
    if (searches >= MAX_SEARCHES) return
    searches += 1
    mailReset(name, post, origin)
      .catch(parts.onFault)
      .finally(() => {
        searches -= 1
      })
  }

  return {
    signInMethods: () =>
      Promise.resolve({
        password: true,
        registration: parts.registrationOpen,
        password_reset: parts.mailer !== null && parts.consoleUrl !== null,
        oidc: parts.oidc === null ? null : { label: parts.oidc.label, start_path: parts.oidc.startPath },
      }),

    forgotPassword: async ({ body, address, requestId }) => {
      const post = postOf(parts)
      const name = nameOf(body)
      const waitMs = requests.take(customerOf(address))
      if (waitMs > 0) throw tooMany(waitMs)
      mailResetTo(name, post, { address, requestId })
      return Promise.resolve(null)
    },

    resetPassword: async ({ body, audit }) => {
      const digest = digestOfToken(body.token)
      const found = await findMailedToken(reading, digest, 'reset_password')
      const user = found === null ? null : await findUser(reading, found.userId)
      if (!mayReset(user) || user.email !== found?.email) throw invalidToken()
      const passwordHash = await credentials.hash(body.new_password, { phone: user.phone, param: '/new_password' })
      if ((await takeMailedToken(database, digest, 'reset_password')) === null) throw invalidToken()
      await updateUser(database, user.id, { passwordHash })
      await dropMailedTokens(database, user.id, 'reset_password')
      audit({ before: null, after: { user_id: user.id } })
      return null
    },

    changeEmail: async ({ body, caller, address, audit, afterCommit }) => {
      const { email, password } = body
      const post = email === null ? null : postOf(parts)
      const user = await present(findUser(reading, caller.userId))
      await credentials.proveCaller(user, password, address)
      if (email === null) {
        const changed = await present(updateUser(database, user.id, { email }))
        await dropMailedTokens(database, user.id, null)
        audit({ before: emailOf(user), after: emailOf(changed) })
        return sessions.account(changed)
      }
      const waitMs = changes.take(user.id)
      if (waitMs > 0) throw tooMany(waitMs)
      await dropMailedTokens(database, user.id, 'verify_email')
      const isProven = user.emailVerifiedAt !== null && user.email?.toLowerCase() === email.toLowerCase()
      if (post !== null && !isProven) {
        const token = await mailedToken(database, { userId: user.id, email, purpose: 'verify_email' })
        afterCommit(() => {
          if (token !== null)
            post.mailer.send(verificationEmail(email, `${post.consoleUrl}/verify-email#token=${token}`))
        })
      }
      return sessions.account(user)
    },

    verifyEmail: async ({ body, caller, audit }) => {
      const taken = await takeMailedToken(database, digestOfToken(body.token), 'verify_email')
      // The owner of the address must not give it to somebody else, who entered it and waits for a click on the link.
      if (taken?.userId !== caller.userId) throw invalidToken()
      const user = await present(lockUser(database, taken.userId))
      const released = await releaseEmail(database, taken.email, user.id)
      const verified = await mapConstraintErrors(
        { unique: { message: 'This is the e-mail address of another user.', param: '/token' } },
        setVerifiedEmail(database, user.id, taken.email),
      )
      if (!verified) throw invalidToken()
      await dropMailedTokens(database, user.id, null)
      audit({
        before: emailOf(user),
        after: { email: taken.email, email_verified: true, ...(released.length === 0 ? {} : { taken_from: released }) },
      })
      return null
    },
  }
}

function emailOf({ email, emailVerifiedAt }: Pick<User, 'email' | 'emailVerifiedAt'>): Record<string, unknown> {
  return { email, email_verified: emailVerifiedAt !== null }
}

/** The user of a token can be deleted right after the token was checked. */
async function present<Row>(found: Promise<Row | null>): Promise<Row> {
  const row = await found
  if (row === null) throw new GatewayError('TOKEN_INVALID')
  return row
}

/** The call that asked for an e-mail. */
interface Origin {
  readonly address: string
  readonly requestId: string
}

/** Only a link that is mailed has a row in the audit log: anybody can ask for links of users who do not exist. */
function mailedEntry(userId: string, { address, requestId }: Origin): AuditEntry {
  return {
    userId: null,
    role: null,
    operation: 'forgotPassword',
    path: '/api/auth/password/forgot',
    enterpriseId: null,
    targetId: userId,
    sent: null,
    changes: null,
    address,
    requestId,
    outcome: 'done',
    errorCode: null,
  }
}

/** The parts that mail links. */
interface Post {
  readonly mailer: Mailer
  readonly consoleUrl: string
}

/** Throws MAIL_UNAVAILABLE, which names the setting that is missing, or a full queue. */
function postOf({ mailer, consoleUrl }: AccountParts): Post {
  if (mailer === null || consoleUrl === null) {
    const missing = mailer === null ? 'mail.smtp' : 'server.base_url or auth.console_url'
    throw new GatewayError('MAIL_UNAVAILABLE', {
      message: `This gateway cannot mail links: the operator has to set ${missing} in its configuration.`,
    })
  }
  if (!mailer.hasRoom) {
    throw new GatewayError('MAIL_UNAVAILABLE', {
      message: 'Too many e-mails wait for the mail server.',
      retryAfterSeconds: 60,
    })
  }
  return { mailer, consoleUrl }
}

type UserName = { readonly phone: string } | { readonly email: string }

function nameOf({ phone, email }: { phone?: string; email?: string }): UserName {
  if (phone !== undefined && email === undefined) return { phone: normalisePhone(phone) }
  if (email !== undefined && phone === undefined) return { email }
  const param = phone === undefined ? '/phone' : '/email'
  throw new GatewayError('INVALID_FIELD', { message: 'Give either phone or email.', param })
}

/** A password is of use only with a phone number, which a user names at the log-in. */
function mayReset(user: User | null): user is User & { readonly email: string } {
  return user?.status === 'active' && user.phone !== null && user.email !== null && user.emailVerifiedAt !== null
}

/** Returns a new token; null when the user has too many open ones. */
async function mailedToken(
  database: Queryable,
  of: { readonly userId: string; readonly email: string; readonly purpose: MailedPurpose },
): Promise<string | null> {
  const token = randomBytes(32).toString('base64url')
  const expiresAt = new Date(Date.now() + (of.purpose === 'reset_password' ? RESET_MS : VERIFICATION_MS))
  return (await insertMailedToken(database, { ...of, digest: digestOfToken(token), expiresAt })) ? token : null
}

function invalidToken(): GatewayError {
  return new GatewayError('MAILED_TOKEN_INVALID', { param: '/token' })
}

function tooMany(waitMs: number): GatewayError {
  return new GatewayError('EMAILS_THROTTLED', {
    message: 'Too many requests for e-mails.',
    retryAfterSeconds: waitMs / 1000,
  })
}
