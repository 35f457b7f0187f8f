import type { Queryable } from './database.ts'

export type SummaryFrequency = 'off' | 'daily' | 'weekly'

export interface SummarySettings {
  readonly frequency: SummaryFrequency
  readonly recipients: readonly string[]
}

/** A summary that is mailed. */
export interface ActiveSummary extends SummarySettings {
  readonly enterpriseId: string
  readonly enterpriseName: string
  readonly currency: string
  readonly timeZone: string
  /** The last period that was mailed, or that was not to be; null: none. */
  readonly lastPeriod: string | null
}

export async function findSummary(queryable: Queryable, enterpriseId: string): Promise<SummarySettings | null> {
  const [row] = await queryable.query<SummarySettings>(
    'SELECT frequency, recipients FROM alert_summaries WHERE enterprise_id = $1',
    [enterpriseId],
  )
  return row ?? null
}

/** Another frequency begins with the period after the present one. */
export async function putSummary(
  queryable: Queryable,
  enterpriseId: string,
  { frequency, recipients }: SummarySettings,
): Promise<void> {
  await queryable.query(
    `INSERT INTO alert_summaries AS s (enterprise_id, frequency, recipients) VALUES ($1, $2, $3::text[])
      ON CONFLICT (enterprise_id) DO UPDATE SET frequency = excluded.frequency, recipients = excluded.recipients,
        last_period = CASE WHEN s.frequency = excluded.frequency THEN s.last_period END`,
    [enterpriseId, frequency, recipients],
  )
}

export function listActiveSummaries(queryable: Queryable): Promise<ActiveSummary[]> {
  return queryable.query<ActiveSummary>(
    `SELECT s.enterprise_id AS "enterpriseId", e.name AS "enterpriseName", e.currency, e.time_zone AS "timeZone", s.frequency,
        s.recipients, s.last_period AS "lastPeriod"
      FROM alert_summaries s JOIN enterprises e ON e.id = s.enterprise_id
      WHERE s.frequency <> 'off' AND e.status = 'active' ORDER BY s.enterprise_id`,
  )
}

/** Returns false when another node was first, or the setting has changed. */
export async function claimPeriod(
  tx: Queryable,
  { enterpriseId, frequency, lastPeriod }: ActiveSummary,
  period: string,
): Promise<boolean> {
  const rows = await tx.query(
    `UPDATE alert_summaries SET last_period = $4 WHERE enterprise_id = $1 AND frequency = $2
        AND last_period IS NOT DISTINCT FROM $3::text RETURNING enterprise_id`,
    [enterpriseId, frequency, lastPeriod, period],
  )
  return rows.length > 0
}
