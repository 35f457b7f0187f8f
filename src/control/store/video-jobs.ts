import type { Claim, ClaimRequest } from '../../shared/core/job-claim.ts'
import type { Queryable } from './database.ts'

/** A job that is still `creating` after this time has lost its front. */
const CREATING_MS = 300_000

interface Row {
  readonly state: 'creating' | 'unknown' | 'begun' | 'completed' | 'failed'
  readonly job_id: string | null
  readonly age_ms: number
}

/** Claims the request for the caller, unless another claim still holds. */
export async function claimVideoJob(queryable: Queryable, request: ClaimRequest): Promise<Claim> {
  const { owner, fingerprint, untilMs } = request
  const taken = await queryable.query(
    `INSERT INTO video_jobs (owner, fingerprint, state, repeats_until)
     VALUES ($1, $2, 'creating', to_timestamp($3::float8 / 1000))
     ON CONFLICT (owner, fingerprint) DO UPDATE
       SET state = 'creating', job_id = NULL, error_code = NULL, created_at = now(), ended_at = NULL,
           repeats_until = excluded.repeats_until
       WHERE video_jobs.repeats_until <= now()
     RETURNING owner`,
    [owner, fingerprint, untilMs],
  )
  if (taken.length > 0) return { kind: 'new' }
  const [row] = await queryable.query<Row>(
    `SELECT state, job_id, (extract(epoch FROM now() - created_at) * 1000)::float8 AS age_ms
     FROM video_jobs WHERE owner = $1 AND fingerprint = $2`,
    [owner, fingerprint],
  )
  // The row was deleted in between: its owner released the claim.
  if (row === undefined) return claimVideoJob(queryable, request)
  if (row.job_id !== null) return { kind: 'job', id: row.job_id }
  return row.state === 'creating' && row.age_ms < CREATING_MS ? { kind: 'busy' } : { kind: 'unknown' }
}

/** Stores the job of a request, also when the request was never claimed here. */
export async function setVideoJob(queryable: Queryable, request: ClaimRequest, job: string | null): Promise<void> {
  await queryable.query(
    `INSERT INTO video_jobs (owner, fingerprint, state, job_id, repeats_until)
     VALUES ($1, $2, $3, $4, to_timestamp($5::float8 / 1000))
     ON CONFLICT (owner, fingerprint) DO UPDATE SET state = excluded.state, job_id = excluded.job_id`,
    [request.owner, request.fingerprint, job === null ? 'unknown' : 'begun', job, request.untilMs],
  )
}

export async function releaseVideoJob(queryable: Queryable, { owner, fingerprint }: ClaimRequest): Promise<void> {
  await queryable.query(`DELETE FROM video_jobs WHERE owner = $1 AND fingerprint = $2 AND state = 'creating'`, [
    owner,
    fingerprint,
  ])
}

export async function endVideoJob(queryable: Queryable, job: string, errorCode: string | null): Promise<void> {
  await queryable.query(
    `UPDATE video_jobs SET state = $2, error_code = $3, ended_at = now() WHERE job_id = $1 AND ended_at IS NULL`,
    [job, errorCode === null ? 'completed' : 'failed', errorCode],
  )
}

/** Deletes jobs 7 days after the last time at which a client could repeat their request. */
export async function forgetVideoJobs(queryable: Queryable): Promise<void> {
  await queryable.query(`DELETE FROM video_jobs WHERE repeats_until < now() - interval '7 days'`)
}
