import type { Migration } from '../migration.ts'

/**
 * Upstreams, their keys and settings of models, made through the management API. Entries have the form of the configuration file
 * and are checked like it whenever they are read. Credentials are sealed, and headers too, because they can contain credentials.
 */
export const upstreams: Migration = {
  id: '0011-upstreams',
  sql: `
CREATE TABLE upstreams (
  id text PRIMARY KEY,
  entry jsonb NOT NULL,
  headers bytea NOT NULL,
  enabled boolean NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE upstream_keys (
  id text PRIMARY KEY,
  upstream_id text NOT NULL REFERENCES upstreams (id) ON DELETE CASCADE,
  name text NOT NULL,
  credential bytea NOT NULL,
  masked text NOT NULL,
  weight double precision NOT NULL,
  priority integer NOT NULL,
  max_concurrency integer NOT NULL,
  enabled boolean NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX upstream_keys_upstream ON upstream_keys (upstream_id, created_at);
CREATE TABLE model_entries (
  id text PRIMARY KEY,
  entry jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TRIGGER upstreams_snapshot AFTER INSERT OR UPDATE OR DELETE ON upstreams
  FOR EACH STATEMENT EXECUTE FUNCTION bump_snapshot_version();
CREATE TRIGGER upstream_keys_snapshot AFTER INSERT OR UPDATE OR DELETE ON upstream_keys
  FOR EACH STATEMENT EXECUTE FUNCTION bump_snapshot_version();
CREATE TRIGGER model_entries_snapshot AFTER INSERT OR UPDATE OR DELETE ON model_entries
  FOR EACH STATEMENT EXECUTE FUNCTION bump_snapshot_version();
`,
}
