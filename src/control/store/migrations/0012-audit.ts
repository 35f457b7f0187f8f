import type { Migration } from '../migration.ts'

/**
 * The audit log, and the responses to idempotent requests. The body is stored as text, because `jsonb` refuses some texts.
 */
export const audit: Migration = {
  id: '0012-audit',
  sql: `
CREATE TABLE audit_log (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  user_id text,
  role text,
  operation text NOT NULL,
  path text NOT NULL,
  enterprise_id text,
  target_id text,
  sent json,
  address text NOT NULL,
  request_id text NOT NULL,
  outcome text NOT NULL CHECK (outcome IN ('done', 'refused')),
  error_code text
);
CREATE INDEX audit_log_time ON audit_log (at, id);
CREATE INDEX audit_log_user ON audit_log (user_id, at, id);
CREATE INDEX audit_log_enterprise ON audit_log (enterprise_id, at, id);
CREATE INDEX audit_log_target ON audit_log (target_id, at, id);

CREATE TABLE idempotent_answers (
  user_id text NOT NULL,
  operation text NOT NULL,
  path text NOT NULL,
  key text NOT NULL,
  fingerprint bytea NOT NULL,
  status integer NOT NULL,
  answer bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (user_id, operation, path, key)
);
CREATE INDEX idempotent_answers_age ON idempotent_answers (created_at);
`,
}
