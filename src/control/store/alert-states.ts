import type { Queryable } from './database.ts'

/** Something beyond a threshold of an alert. */
export interface AlertState {
  readonly alertId: string
  readonly subject: string
  /** The node that sees it; '' where all nodes see the same. */
  readonly node: string
  /** The highest threshold that was crossed. */
  readonly level: number
  /** Since when it has been below; null: it is not. */
  readonly clearSince: Date | null
  readonly seenAt: Date
}

const SELECT = `SELECT alert_id AS "alertId", subject, node, level, clear_since AS "clearSince", seen_at AS "seenAt"
  FROM alert_states`

export function listAlertStates(queryable: Queryable): Promise<AlertState[]> {
  return queryable.query<AlertState>(SELECT)
}

export function listStatesOfAlert(queryable: Queryable, alertId: string): Promise<AlertState[]> {
  return queryable.query<AlertState>(`${SELECT} WHERE alert_id = $1`, [alertId])
}

export async function putAlertState(tx: Queryable, state: AlertState): Promise<void> {
  const { alertId, subject, node, level, clearSince, seenAt } = state
  await tx.query(
    `INSERT INTO alert_states (alert_id, subject, node, level, clear_since, seen_at) VALUES ($1, $2, $3, $4, $5, $6)
      ON CONFLICT (alert_id, subject, node) DO UPDATE SET level = excluded.level, clear_since = excluded.clear_since,
        seen_at = excluded.seen_at`,
    [alertId, subject, node, level, clearSince, seenAt],
  )
}

export async function deleteAlertState(
  tx: Queryable,
  { alertId, subject, node }: Pick<AlertState, 'alertId' | 'subject' | 'node'>,
): Promise<void> {
  await tx.query('DELETE FROM alert_states WHERE alert_id = $1 AND subject = $2 AND node = $3', [
    alertId,
    subject,
    node,
  ])
}

/** Deletes what nodes have seen that have said nothing since. */
export async function removeStatesOfNodesBefore(queryable: Queryable, before: Date): Promise<void> {
  await queryable.query(`DELETE FROM alert_states WHERE node <> '' AND seen_at < $1`, [before])
}

/**
 * Makes this node the one that sends, or lets it remain so, for `seconds` by the clock of the database. Returns false while another
 * node is.
 */
export async function holdSender(queryable: Queryable, node: string, seconds: number): Promise<boolean> {
  const rows = await queryable.query(
    `INSERT INTO alert_sender AS s (node, until) VALUES ($1, now() + make_interval(secs => $2))
      ON CONFLICT (one) DO UPDATE SET node = excluded.node, until = excluded.until
        WHERE s.node = excluded.node OR s.until < now()
      RETURNING node`,
    [node, seconds],
  )
  return rows.length > 0
}

export async function releaseSender(queryable: Queryable, node: string): Promise<void> {
  await queryable.query('DELETE FROM alert_sender WHERE node = $1', [node])
}
