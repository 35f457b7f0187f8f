import type { Queryable } from './database.ts'

/** Identifies an idempotent request. */
export interface AnswerName {
  readonly userId: string
  readonly operation: string
  readonly path: string
  /** The client's `Idempotency-Key`. */
  readonly key: string
}

export interface StoredAnswer {
  /** Keyed digest of the request. */
  readonly fingerprint: Buffer
  readonly status: number
  /** The sealed response. */
  readonly answer: Buffer
}

/** During this time, the same key means the same request. */
const KEPT = "interval '24 hours'"

/**
 * Locks the name until the caller's transaction ends. Returns false when another transaction has the lock: the same request is
 * under way.
 */
export async function claimAnswer(tx: Queryable, name: AnswerName): Promise<boolean> {
  const [row] = await tx.query<{ claimed: boolean }>(
    'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS claimed',
    [JSON.stringify(['idempotent answer', ...parametersOf(name)])],
  )
  return row?.claimed === true
}

export async function findAnswer(queryable: Queryable, name: AnswerName): Promise<StoredAnswer | null> {
  const [row] = await queryable.query<StoredAnswer>(
    `SELECT fingerprint, status, answer FROM idempotent_answers
      WHERE user_id = $1 AND operation = $2 AND path = $3 AND key = $4 AND created_at > now() - ${KEPT}`,
    parametersOf(name),
  )
  return row ?? null
}

/** Inserts the response, or replaces one that has expired. */
export async function insertAnswer(tx: Queryable, name: AnswerName, stored: StoredAnswer): Promise<void> {
  await tx.query(
    `INSERT INTO idempotent_answers (user_id, operation, path, key, fingerprint, status, answer)
      VALUES ($1, $2, $3, $4, $5, $6, $7)
      ON CONFLICT (user_id, operation, path, key) DO UPDATE SET fingerprint = excluded.fingerprint,
        status = excluded.status, answer = excluded.answer, created_at = excluded.created_at`,
    [...parametersOf(name), stored.fingerprint, stored.status, stored.answer],
  )
}

/** Resolves to the number of deleted responses. */
export async function removeOldAnswers(queryable: Queryable): Promise<number> {
  const rows = await queryable.query(
    `DELETE FROM idempotent_answers WHERE created_at <= now() - ${KEPT} RETURNING user_id`,
  )
  return rows.length
}

function parametersOf({ userId, operation, path, key }: AnswerName): readonly string[] {
  return [userId, operation, path, key]
}
