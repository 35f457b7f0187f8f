import type { Migration } from '../migration.ts'

/** Sessions that can be listed. Tokens of before appear with their next use. */
export const userSessions: Migration = {
  id: '0021-user-sessions',
  sql: `
CREATE TABLE user_sessions (
  id text PRIMARY KEY,
  user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  generation integer NOT NULL,
  user_agent text NOT NULL,
  address text NOT NULL,
  created_at timestamptz NOT NULL,
  last_used_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX user_sessions_user ON user_sessions (user_id, last_used_at);
CREATE INDEX user_sessions_expiry ON user_sessions (expires_at);
`,
}
