import type { Migration } from '../migration.ts'

/** The reason why a request to join an enterprise was rejected, for the user who asked. */
export const joinReason: Migration = {
  id: '0027-join-reason',
  sql: `
ALTER TABLE join_requests ADD COLUMN reason text;
CREATE INDEX join_requests_user ON join_requests (user_id, created_at);
`,
}
