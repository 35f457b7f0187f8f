import type { Migration } from '../migration.ts'

/** Requests that have begun a video job, or are about to. The job's data is sealed in its id. */
export const videoJobs: Migration = {
  id: '0004-video-jobs',
  sql: `
CREATE TABLE video_jobs (
  owner text NOT NULL,
  fingerprint text NOT NULL,
  state text NOT NULL CHECK (state IN ('creating', 'unknown', 'begun', 'completed', 'failed')),
  job_id text,
  error_code text,
  created_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz,
  repeats_until timestamptz NOT NULL,
  PRIMARY KEY (owner, fingerprint)
);
CREATE INDEX video_jobs_job_id ON video_jobs USING hash (job_id);
CREATE INDEX video_jobs_repeats_until ON video_jobs (repeats_until);
`,
}
