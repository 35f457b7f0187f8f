import { randomUUID } from 'node:crypto'
import type { OidcConfig } from '../../shared/config/shape.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Queryable } from '../store/database.ts'
import { findEnterprise } from '../store/enterprises.ts'
import { countAdmins, findIdentity, hasIdentityAt, insertIdentity, lockIdentity } from '../store/identities.ts'
import { changeMember, countOwners, insertMember, listClaimedMemberships, removeMember } from '../store/members.ts'
import { insertUser, lockUser, lockUserByVerifiedEmail, releaseEmail, updateUser } from '../store/users.ts'
import type { NewUser, User } from '../store/users.ts'
import { mapConstraintErrors } from './constraint-errors.ts'
import { grantedBy, isSubject, nameOf, verifiedEmailOf } from './oidc-claims.ts'
import type { Granted } from './oidc-claims.ts'
import type { Claims, OidcLogger } from './oidc-client.ts'

/** Changes that a log-in through the provider made; for the audit log. */
export interface SignInChange {
  readonly created?: true
  readonly linked?: true
  /** Ids of users who had the address of the person without having proven to own it. */
  readonly emailTakenFrom?: readonly string[]
  readonly role?: User['role']
  readonly joined: string[]
  readonly changed: string[]
  readonly left: string[]
}

/**
 * Finds or creates the user of a person, and applies the roles and memberships that the claims give. Call it in a transaction.
 * Throws SIGN_IN_DENIED or SIGN_IN_FAILED.
 */
export async function signedIn(
  tx: Queryable,
  claims: Claims,
  config: OidcConfig,
  logger: OidcLogger,
): Promise<{ readonly user: User; readonly change: SignInChange }> {
  if (!isSubject(claims.sub)) throw new GatewayError('SIGN_IN_FAILED')
  const identity = { issuer: config.issuer, subject: claims.sub }
  await lockIdentity(tx, identity)
  const knownId = await findIdentity(tx, identity)
  const found = knownId === null ? await newIdentity(tx, claims, config) : { id: knownId, how: {} }
  const user = await lockUser(tx, found.id)
  if (user?.status !== 'active') throw new GatewayError('SIGN_IN_DENIED')
  const granted = grantedBy(claims, config.claims)
  const role = await applyRole(tx, user, granted, logger)
  const memberships = await applyMemberships(tx, user.id, granted, logger)
  return {
    user: { ...user, role: role ?? user.role },
    change: { ...found.how, ...(role === null ? {} : { role }), ...memberships },
  }
}

interface Found {
  readonly id: string
  readonly how: Pick<SignInChange, 'created' | 'linked' | 'emailTakenFrom'>
}

/** Links the person to the user with the same verified address, or makes a user. */
async function newIdentity(tx: Queryable, claims: Claims, config: OidcConfig): Promise<Found> {
  const { issuer } = config
  const email = verifiedEmailOf(claims)
  const owner = email === null ? null : await lockUserByVerifiedEmail(tx, email)
  if (owner !== null) {
    // Another person at this provider may have got an address that was used before.
    if (await hasIdentityAt(tx, owner.id, issuer)) {
      throw new GatewayError('SIGN_IN_DENIED', {
        message: 'Your e-mail address belongs to an account that another person at the OpenID provider uses.',
      })
    }
    await insertIdentity(tx, owner.id, { issuer, subject: claims.sub })
    return { id: owner.id, how: { linked: true } }
  }
  if (!config.createUsers) throw new GatewayError('SIGN_IN_DENIED')
  const id = `user_${randomUUID()}`
  const user: NewUser = {
    id,
    phone: null,
    name: nameOf(claims),
    passwordHash: null,
    role: 'user',
    status: 'active',
    email,
    emailVerifiedAt: email === null ? null : new Date(),
  }
  const emailTakenFrom = email === null ? [] : await releaseEmail(tx, email, id)
  const message = 'Another log-in took this e-mail address at the same moment: begin again.'
  await mapConstraintErrors({ unique: { message } }, insertUser(tx, user))
  await insertIdentity(tx, id, { issuer, subject: claims.sub })
  return { id, how: { created: true, ...(emailTakenFrom.length === 0 ? {} : { emailTakenFrom }) } }
}

/** Returns the new role; null when it stays. The last admin stays admin. */
async function applyRole(
  tx: Queryable,
  user: User,
  { role }: Granted,
  logger: OidcLogger,
): Promise<User['role'] | null> {
  if (role === null || role === user.role) return null
  if (role === 'user' && (await countAdmins(tx)) === 1) {
    logger.warn({ user_id: user.id }, 'the claims of the last admin no longer give the role; the user keeps it')
    return null
  }
  await updateUser(tx, user.id, { role })
  return role
}

async function applyMemberships(
  tx: Queryable,
  userId: string,
  { enterprises }: Granted,
  logger: OidcLogger,
): Promise<Pick<SignInChange, 'joined' | 'changed' | 'left'>> {
  const done = { joined: [] as string[], changed: [] as string[], left: [] as string[] }
  const memberships = await listClaimedMemberships(tx, userId, [...enterprises.keys()])
  for (const [enterpriseId, role] of enterprises) {
    const member = memberships.find((one) => one.enterpriseId === enterpriseId)
    if (member === undefined) {
      const enterprise = await findEnterprise(tx, enterpriseId)
      if (enterprise === null || enterprise.status === 'deleted') {
        logger.warn({ enterprise_id: enterpriseId }, 'auth.oidc.claims names an enterprise that does not exist')
        continue
      }
      const id = `member_${randomUUID()}`
      await insertMember(tx, enterpriseId, { id, userId, role, departmentId: null, fromClaims: true })
      done.joined.push(enterpriseId)
    } else if (member.fromClaims && member.role !== role) {
      if (await isLastOwner(tx, enterpriseId, member.role)) continue
      await changeMember(tx, enterpriseId, member.id, { role })
      done.changed.push(enterpriseId)
    }
  }
  for (const { id, enterpriseId, role, fromClaims } of memberships) {
    if (!fromClaims || enterprises.has(enterpriseId) || (await isLastOwner(tx, enterpriseId, role))) continue
    await removeMember(tx, enterpriseId, id)
    done.left.push(enterpriseId)
  }
  return done
}

/** An enterprise needs an owner. */
async function isLastOwner(tx: Queryable, enterpriseId: string, role: string): Promise<boolean> {
  return role === 'owner' && (await countOwners(tx, enterpriseId)) <= 1
}
