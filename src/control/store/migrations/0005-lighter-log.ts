import type { Migration } from '../migration.ts'

/**
 * What a row of the log costs to insert, less what nothing reads. A request's id tells its time, which with the id is the
 * primary key. Attempts are read with their row and never searched: as `jsonb` each insert parsed them.
 */
export const lighterLog: Migration = {
  id: '0005-lighter-log',
  sql: `
DROP INDEX request_log_id;
ALTER TABLE request_log ALTER COLUMN attempts TYPE text;
`,
}
