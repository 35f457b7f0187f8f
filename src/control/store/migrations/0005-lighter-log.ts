import type { Migration } from '../migration.ts'

/**
 * Makes inserts into the log cheaper. The index by id is not needed: a request's id contains its time, and both are the primary
 * key. Attempts are only read with their row, never searched; as `jsonb`, each insert parsed them.
 */
export const lighterLog: Migration = {
  id: '0005-lighter-log',
  sql: `
DROP INDEX request_log_id;
ALTER TABLE request_log ALTER COLUMN attempts TYPE text;
`,
}
