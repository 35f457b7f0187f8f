import type { Static } from 'typebox'
import type { Bodies } from '../../shared/api/capture.ts'
import { mayDo } from '../../shared/api/roles.ts'
import type { EnterpriseAction } from '../../shared/api/roles.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { CapturedBodies, CapturedBodiesOfRequest, CapturedBody, CapturedRow } from '../capture/captured-bodies.ts'
import type { Queryable } from '../store/database.ts'
import { listMemberships } from '../store/enterprises.ts'

/** Whether the bodies of a row are for the caller. */
export type MayDoTo = (row: CapturedRow) => boolean

/** For callers whose right the operation itself has checked. */
export const ALL_ROWS: MayDoTo = () => true

/** A user may do so with requests of the user's own keys, and of enterprises where the user's role has the right. */
export async function rowsWithRight(queryable: Queryable, userId: string, action: EnterpriseAction): Promise<MayDoTo> {
  const memberships = await listMemberships(queryable, userId)
  const enterprises = new Set(memberships.filter(({ role }) => mayDo(role, action)).map(({ id }) => id))
  return (row) => (row.enterpriseId === null ? row.userId === userId : enterprises.has(row.enterpriseId))
}

export function roleDenied(action: EnterpriseAction): GatewayError {
  return new GatewayError('ROLE_DENIED', {
    message: `The key belongs to an enterprise, where your role does not have the right ${action}.`,
  })
}

/** The bodies of one row, as the API shows them; null when there are none. */
export async function shownBodies(
  queryable: Queryable,
  bodies: CapturedBodies,
  row: CapturedRow,
): Promise<Static<typeof Bodies> | null> {
  const found = (await bodies.of(queryable, [row])).get(row.id)
  return found === undefined ? null : { request: rendered(found.request), answer: rendered(found.answer) }
}

/** The texts of the bodies of one row, for files. */
export function textsOf(found: CapturedBodiesOfRequest | undefined): {
  readonly request_body: string | null
  readonly answer_body: string | null
} {
  return { request_body: found?.request?.text ?? null, answer_body: found?.answer?.text ?? null }
}

function rendered(body: CapturedBody | null): Static<typeof Bodies>['request'] {
  if (body === null) return null
  const { text, size, truncated, complete, redactions, expiresAt } = body
  return { text, bytes: size, truncated, complete, redactions, expires_at: expiresAt.toISOString() }
}
