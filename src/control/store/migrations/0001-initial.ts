import type { Migration } from '../migration.ts'

/**
 * The request log is partitioned by day (`request_log_YYYYMMDD`, created by the settler), so that old days are dropped whole.
 * Key columns of the rollup contain '' for "none": NULLs would not be equal in its primary key.
 */
export const initial: Migration = {
  id: '0001-initial',
  sql: `
CREATE TABLE users (
  id text PRIMARY KEY,
  phone text NOT NULL UNIQUE CHECK (phone ~ '^[+][1-9][0-9]{4,14}$'),
  name text NOT NULL,
  password_hash text NOT NULL,
  role text NOT NULL CHECK (role IN ('admin', 'user')),
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE entry_keys (
  id text PRIMARY KEY,
  digest text NOT NULL UNIQUE,
  masked text NOT NULL,
  name text NOT NULL,
  status text NOT NULL DEFAULT 'enabled' CHECK (status IN ('enabled', 'disabled', 'deleted')),
  user_id text REFERENCES users (id),
  enterprise_id text,
  department_id text,
  member_id text,
  rpm integer CHECK (rpm >= 0),
  tpm bigint CHECK (tpm >= 0),
  max_concurrency integer CHECK (max_concurrency >= 0),
  models text[],
  ip_allow text[],
  client_allow text[],
  expires_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX entry_keys_user ON entry_keys (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX entry_keys_enterprise ON entry_keys (enterprise_id) WHERE enterprise_id IS NOT NULL;

CREATE TABLE settings (
  key text PRIMARY KEY,
  value jsonb NOT NULL
);

CREATE TABLE snapshot_version (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  version bigint NOT NULL
);
INSERT INTO snapshot_version (version) VALUES (1);

CREATE FUNCTION bump_snapshot_version() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  next bigint;
BEGIN
  UPDATE snapshot_version SET version = version + 1 RETURNING version INTO next;
  PERFORM pg_notify('sluice_snapshot', next::text);
  RETURN NULL;
END
$$;
CREATE TRIGGER snapshot_of_entry_keys AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON entry_keys
  FOR EACH STATEMENT EXECUTE FUNCTION bump_snapshot_version();
CREATE TRIGGER snapshot_of_users AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON users
  FOR EACH STATEMENT EXECUTE FUNCTION bump_snapshot_version();

CREATE TABLE request_log (
  at timestamptz NOT NULL,
  id text NOT NULL,
  node text NOT NULL,
  endpoint text NOT NULL,
  dialect text NOT NULL,
  key_id text,
  key_masked text,
  user_id text,
  enterprise_id text,
  department_id text,
  member_id text,
  model text,
  served_model text,
  provider_id text,
  upstream_key_id text,
  attempts jsonb NOT NULL,
  status integer,
  error_type text,
  error_code text,
  stream boolean NOT NULL,
  aborted boolean NOT NULL,
  prompt_tokens bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  cached_tokens bigint NOT NULL,
  cache_write_tokens bigint NOT NULL,
  reasoning_tokens bigint NOT NULL,
  cost_micro bigint NOT NULL DEFAULT 0,
  settlement text NOT NULL,
  queue_us bigint NOT NULL,
  ttft_us bigint,
  total_us bigint NOT NULL,
  overhead_us bigint NOT NULL,
  user_agent text NOT NULL,
  client_address text NOT NULL,
  client_request_id text,
  PRIMARY KEY (at, id)
) PARTITION BY RANGE (at);
CREATE INDEX request_log_id ON request_log (id);
CREATE INDEX request_log_key ON request_log (key_id, at, id) WHERE key_id IS NOT NULL;
CREATE INDEX request_log_user ON request_log (user_id, at, id) WHERE user_id IS NOT NULL;
CREATE INDEX request_log_enterprise ON request_log (enterprise_id, at, id) WHERE enterprise_id IS NOT NULL;

CREATE TABLE request_rollup_hourly (
  hour timestamptz NOT NULL,
  key_id text NOT NULL,
  user_id text NOT NULL,
  enterprise_id text NOT NULL,
  model text NOT NULL,
  endpoint text NOT NULL,
  status integer NOT NULL,
  requests bigint NOT NULL,
  aborted bigint NOT NULL,
  prompt_tokens bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  cached_tokens bigint NOT NULL,
  cache_write_tokens bigint NOT NULL,
  reasoning_tokens bigint NOT NULL,
  cost_micro bigint NOT NULL,
  queue_us bigint NOT NULL,
  ttft_us bigint NOT NULL,
  ttft_count bigint NOT NULL,
  total_us bigint NOT NULL,
  overhead_us bigint NOT NULL,
  PRIMARY KEY (hour, key_id, user_id, enterprise_id, model, endpoint, status)
);

CREATE TABLE journal_offsets (
  node text NOT NULL,
  segment text NOT NULL,
  position bigint NOT NULL,
  created_at_ms bigint NOT NULL,
  PRIMARY KEY (node, segment)
);

CREATE TABLE journal_open (
  node text NOT NULL,
  request_id text NOT NULL,
  writer text NOT NULL,
  segment text NOT NULL,
  position bigint NOT NULL,
  record bytea NOT NULL,
  PRIMARY KEY (node, request_id)
);
CREATE INDEX journal_open_writer ON journal_open (node, writer);

CREATE TABLE journal_dead_letters (
  node text NOT NULL,
  segment text NOT NULL,
  position bigint NOT NULL,
  reason text NOT NULL,
  bytes bytea NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (node, segment, position)
);
`,
}
