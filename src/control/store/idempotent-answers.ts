import type { Queryable } from './database.ts'

/** What a repeated request is told apart by. */
export interface AnswerName {
  readonly userId: string
  readonly operation: string
  readonly path: string
  /** As the client chose it. */
  readonly key: string
}

export interface StoredAnswer {
  /** Of what was sent. */
  readonly fingerprint: Buffer
  readonly status: number
  /** Sealed. */
  readonly answer: Buffer
}

/** For so long the same key means the same request. */
const KEPT = "interval '24 hours'"

/**
 * Keeps the name to the caller's transaction until it ends. False when another transaction has it: the same request is under
 * way somewhere.
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

/** Takes the place of one that is too old to be found. */
export async function insertAnswer(tx: Queryable, name: AnswerName, stored: StoredAnswer): Promise<void> {
  await tx.query(
    `INSERT INTO idempotent_answers (user_id, operation, path, key, fingerprint, status, answer)
      VALUES ($1, $2, $3, $4, $5, $6, $7)
      ON CONFLICT (user_id, operation, path, key) DO UPDATE SET fingerprint = excluded.fingerprint,
        status = excluded.status, answer = excluded.answer, created_at = excluded.created_at`,
    [...parametersOf(name), stored.fingerprint, stored.status, stored.answer],
  )
}

/** Resolves to how many there were. */
export async function removeOldAnswers(queryable: Queryable): Promise<number> {
  const rows = await queryable.query(
    `DELETE FROM idempotent_answers WHERE created_at <= now() - ${KEPT} RETURNING user_id`,
  )
  return rows.length
}

function parametersOf({ userId, operation, path, key }: AnswerName): readonly string[] {
  return [userId, operation, path, key]
}
