import type { Migration } from '../migration.ts'

/**
 * The log by key, user and enterprise is read newest first, and by id within a millisecond. With the ids in these indexes, the index
 * by key takes a seventh of the cost of an insert. Without them, rows of the same millisecond are sorted when they are read.
 */
export const narrowLogIndexes: Migration = {
  id: '0014-narrow-log-indexes',
  sql: `
DROP INDEX request_log_key;
DROP INDEX request_log_user;
DROP INDEX request_log_enterprise;
CREATE INDEX request_log_key ON request_log (key_id, at) WHERE key_id IS NOT NULL;
CREATE INDEX request_log_user ON request_log (user_id, at) WHERE user_id IS NOT NULL;
CREATE INDEX request_log_enterprise ON request_log (enterprise_id, at) WHERE enterprise_id IS NOT NULL;
`,
}
