import type { Migration } from '../migration.ts'

/**
 * Ends sessions before their tokens expire: one session by its id, all sessions of a user by the generation. The old secret of a
 * rotated key stays valid for a while.
 */
export const sessions: Migration = {
  id: '0008-sessions',
  sql: `
ALTER TABLE users ADD COLUMN session_generation integer NOT NULL DEFAULT 0;

CREATE TABLE revoked_tokens (
  id text PRIMARY KEY,
  expires_at timestamptz NOT NULL
);
CREATE INDEX revoked_tokens_expiry ON revoked_tokens (expires_at);

CREATE TABLE entry_key_predecessors (
  digest text PRIMARY KEY,
  key_id text NOT NULL REFERENCES entry_keys (id),
  until timestamptz NOT NULL
);
CREATE INDEX entry_key_predecessors_key ON entry_key_predecessors (key_id);
CREATE TRIGGER snapshot_of_predecessors AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON entry_key_predecessors
  FOR EACH STATEMENT EXECUTE FUNCTION bump_snapshot_version();
`,
}
