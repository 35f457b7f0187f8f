import type { Migration } from '../migration.ts'

/** Adds limits for all keys of a user, and for all keys of an enterprise. */
export const groupLimits: Migration = {
  id: '0002-group-limits',
  sql: `
ALTER TABLE users
  ADD COLUMN rpm integer CHECK (rpm >= 0),
  ADD COLUMN tpm bigint CHECK (tpm >= 0),
  ADD COLUMN max_concurrency integer CHECK (max_concurrency >= 0);

CREATE TABLE enterprises (
  id text PRIMARY KEY,
  name text NOT NULL,
  rpm integer CHECK (rpm >= 0),
  tpm bigint CHECK (tpm >= 0),
  max_concurrency integer CHECK (max_concurrency >= 0),
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE TRIGGER snapshot_of_enterprises AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON enterprises
  FOR EACH STATEMENT EXECUTE FUNCTION bump_snapshot_version();
`,
}
