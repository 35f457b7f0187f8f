import type { OidcClaimRule } from '../../shared/config/shape.ts'
import type { EnterpriseRole, PlatformRole } from '../../shared/api/roles.ts'
import { storableText } from '../store/text.ts'
import type { Claims } from './oidc-client.ts'

/** Roles that the claims of a person give. */
export interface Granted {
  /** Null: claims do not decide about the role on the platform. */
  readonly role: PlatformRole | null
  /** The role by the id of the enterprise. */
  readonly enterprises: ReadonlyMap<string, EnterpriseRole>
}

const HIGHEST_FIRST: readonly EnterpriseRole[] = ['owner', 'admin', 'finance', 'employee']

export function grantedBy(claims: Claims, rules: readonly OidcClaimRule[]): Granted {
  const matching = rules.filter(({ claim, value }) => valuesOf(claims, claim).includes(value))
  const enterprises = new Map<string, EnterpriseRole>()
  for (const role of HIGHEST_FIRST) {
    for (const { enterprise } of matching) {
      if (enterprise?.role === role && !enterprises.has(enterprise.id)) enterprises.set(enterprise.id, role)
    }
  }
  const decides = rules.some(({ role }) => role !== null)
  const isAdmin = matching.some(({ role }) => role === 'admin')
  return { role: decides ? (isAdmin ? 'admin' : 'user') : null, enterprises }
}

/** As long as OpenID Connect allows. */
const MAX_SUBJECT = 255

/** Whether the subject can be stored. */
export function isSubject(subject: string): boolean {
  return subject !== '' && subject.length <= MAX_SUBJECT && storableText(subject) === subject
}

/** The verified e-mail address; null when there is none. */
export function verifiedEmailOf({ email, email_verified: isVerified }: Claims): string | null {
  // Only the boolean counts: a text such as "false" is no proof.
  if (isVerified !== true || typeof email !== 'string' || email.length > 254) return null
  if (storableText(email) !== email) return null
  return /^[^@\s]{1,64}@[^@\s]{1,190}$/.test(email) ? email : null
}

export function nameOf(claims: Claims): string {
  const names = [claims['name'], claims['preferred_username'], claims['email'], claims.sub]
  const name = names.find((one): one is string => typeof one === 'string' && one.trim() !== '')
  return storableText((name ?? claims.sub).trim().slice(0, 100))
}

/** The texts of a claim. A name with dots is first taken as it is, as some providers use addresses for names. */
function valuesOf(claims: Claims, claim: string): string[] {
  const value = Object.hasOwn(claims, claim) ? claims[claim] : memberAt(claims, claim.split('.'))
  return (Array.isArray(value) ? (value as unknown[]) : [value]).flatMap((one) =>
    typeof one === 'string' || typeof one === 'number' || typeof one === 'boolean' ? [String(one)] : [],
  )
}

function memberAt(value: unknown, path: readonly string[]): unknown {
  let member = value
  for (const name of path) {
    if (typeof member !== 'object' || member === null || !Object.hasOwn(member, name)) return undefined
    member = (member as Record<string, unknown>)[name]
  }
  return member
}
