import type { Migration } from '../migration.ts'

/** The column has no index: trace ids are random, and one more random page per row costs more than a rare search of a day. */
export const traceId: Migration = {
  id: '0003-trace-id',
  sql: 'ALTER TABLE request_log ADD COLUMN trace_id text',
}
