import { randomBytes } from 'node:crypto'
import type { OidcConfig } from '../../shared/config/shape.ts'
import type { OIDC } from '../../shared/api/operations/oidc.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Seal } from '../../shared/runtime/seal.ts'
import { insertAuditEntry } from '../store/audit-log.ts'
import type { Database } from '../store/database.ts'
import { insertSignInCode, takeSignInCode } from '../store/identities.ts'
import { findUser } from '../store/users.ts'
import { digestOfToken } from './add-member.ts'
import { Redirect } from './call.ts'
import type { Handlers } from './call.ts'
import type { OidcClient, OidcLogger, PendingSignIn } from './oidc-client.ts'
import { signedIn } from './oidc-users.ts'
import type { SignInChange } from './oidc-users.ts'
import { originOf } from './sessions.ts'
import type { Sessions } from './sessions.ts'

export interface OidcParts {
  readonly database: Database
  readonly sessions: Sessions
  /** Null: there is no OpenID provider. */
  readonly oidc: OidcConfig | null
  readonly oidcClient: OidcClient | null
  readonly consoleUrl: string | null
  /** Seals the cookie of a log-in. */
  readonly cookieSeal: Seal
  readonly oidcLogger: OidcLogger
}

type Kept = { readonly until: number } & (
  { readonly step: 'pending'; readonly pending: PendingSignIn } | { readonly step: 'code'; readonly digest: string }
)

const COOKIE = 'sluice_sign_in'
const CALLBACK = '/callback'
const SIGN_IN_MS = 10 * 60_000
const CODE_MS = 60_000

/**
 * Log-in through an OpenID provider. A sealed cookie binds all steps to one browser:
 *
 *   start ── state, nonce, PKCE verifier in the cookie ──► provider ──► callback ── digest of a code in the cookie ──► console
 *   console ── code and cookie ──► token: the session
 *
 * The console gets the code in the fragment, which no server and no Referer sees. The code alone is of no use in another browser, so
 * nobody can log others in as himself by a link either.
 */
export function oidcHandlers(parts: OidcParts): Handlers<keyof typeof OIDC> {
  const { database, sessions, oidc, oidcClient: client, consoleUrl, cookieSeal, oidcLogger } = parts
  const cookieAt = oidc === null ? null : new URL(oidc.redirectUrl)
  /** The provider sends the browser back from another site: `Strict` would keep the cookie from the callback. */
  const setCookie = (value: string, seconds: number): string => {
    const path = cookieAt?.pathname.slice(0, -CALLBACK.length) ?? '/'
    const secure = cookieAt?.protocol === 'https:' ? '; Secure' : ''
    return `${COOKIE}=${value}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`
  }
  const cookieOf = (kept: Kept): string => {
    const value = cookieSeal.seal(Buffer.from(JSON.stringify(kept))).toString('base64url')
    return setCookie(value, Math.ceil((kept.until - Date.now()) / 1000))
  }
  const keptIn = (header: string | undefined): Kept | null => {
    const value = cookieNamed(COOKIE, header)
    const opened = value === null ? null : cookieSeal.open(Buffer.from(value, 'base64url'))
    const kept = opened === null ? null : (JSON.parse(opened.toString()) as Kept)
    return kept === null || kept.until < Date.now() ? null : kept
  }
  /** Shows a failure to a browser in the console; other clients get the error itself. */
  const orToConsole = async (accept: string | undefined, work: () => Promise<Redirect>): Promise<Redirect> => {
    try {
      return await work()
    } catch (cause) {
      if (cause instanceof GatewayError && cause.code === 'SIGN_IN_DENIED') {
        oidcLogger.warn({ reason: cause.message }, 'a log-in through the OpenID provider was refused')
      }
      if (!(cause instanceof GatewayError) || oidc === null || accept?.includes('text/html') !== true) throw cause
      return new Redirect(`${consoleUrl ?? ''}/signed-in#error=${cause.code}`, setCookie('', 0))
    }
  }

  return {
    oidcStart: ({ message }) =>
      orToConsole(message.headers['accept'], async () => {
        const { url, pending } = await configured(client).begin()
        return new Redirect(url, cookieOf({ step: 'pending', pending, until: Date.now() + SIGN_IN_MS }))
      }),

    oidcCallback: ({ query, message, address, requestId }) =>
      orToConsole(message.headers['accept'], async () => {
        const [provider, config] = [configured(client), configured(oidc)]
        const kept = keptIn(message.headers['cookie'])
        if (kept?.step !== 'pending') throw new GatewayError('SIGN_IN_FAILED')
        const claims = await provider.finish(definedOf(query), kept.pending)
        const code = randomBytes(32).toString('base64url')
        const digest = digestOfToken(code)
        await database.transaction(async (tx) => {
          const { user, change } = await signedIn(tx, claims, config, oidcLogger)
          await insertSignInCode(tx, { digest, userId: user.id, expiresAt: new Date(Date.now() + CODE_MS) })
          if (!hasChanged(change)) return
          const entry = {
            userId: user.id,
            role: user.role,
            operation: 'oidcCallback',
            path: '/api/auth/oidc/callback',
            targetId: user.id,
            changes: null,
            address,
            requestId,
            outcome: 'done',
            errorCode: null,
          } as const
          await insertAuditEntry(tx, { ...entry, enterpriseId: null, sent: JSON.stringify(change) })
          // Each enterprise sees its own part.
          for (const [enterpriseId, part] of memberships(change)) {
            await insertAuditEntry(tx, { ...entry, enterpriseId, sent: JSON.stringify({ membership: part }) })
          }
        })
        const cookie = cookieOf({ step: 'code', digest, until: Date.now() + CODE_MS })
        return new Redirect(`${consoleUrl ?? ''}/signed-in#code=${code}`, cookie)
      }),

    oidcToken: async (call) => {
      configured(client)
      const digest = digestOfToken(call.body.code)
      const kept = keptIn(call.message.headers['cookie'])
      if (kept?.step !== 'code' || kept.digest !== digest) throw new GatewayError('SIGN_IN_FAILED')
      const userId = await takeSignInCode(database, digest)
      const user = userId === null ? null : await findUser(database, userId)
      if (user === null) throw new GatewayError('SIGN_IN_FAILED')
      if (user.status !== 'active') throw new GatewayError('SIGN_IN_DENIED')
      return sessions.begin(user, originOf(call))
    },
  }
}

function configured<Part>(part: Part | null): Part {
  if (part !== null) return part
  throw new GatewayError('NOT_FOUND', {
    message: 'There is no OpenID provider: the operator has to set auth.oidc in the configuration.',
  })
}

function definedOf(query: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}

function hasChanged({ created, linked, role, joined, changed, left }: SignInChange): boolean {
  return created === true || linked === true || role !== undefined || joined.length + changed.length + left.length > 0
}

function memberships({ joined, changed, left }: SignInChange): Array<[enterpriseId: string, how: string]> {
  return Object.entries({ joined, changed, left }).flatMap(([how, ids]) => ids.map((id): [string, string] => [id, how]))
}

function cookieNamed(name: string, header = ''): string | null {
  for (const pair of header.split(/[;,]\s*/)) {
    if (pair.startsWith(`${name}=`)) return pair.slice(name.length + 1)
  }
  return null
}
