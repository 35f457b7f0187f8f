import type { Migration } from '../migration.ts'

/** Limits over all keys of a department, with the departments below it, and over all keys of a member. */
export const holderLimits: Migration = {
  id: '0018-holder-limits',
  sql: `
ALTER TABLE departments
  ADD COLUMN rpm integer CHECK (rpm >= 0),
  ADD COLUMN tpm bigint CHECK (tpm >= 0),
  ADD COLUMN max_concurrency integer CHECK (max_concurrency >= 0);
ALTER TABLE members
  ADD COLUMN rpm integer CHECK (rpm >= 0),
  ADD COLUMN tpm bigint CHECK (tpm >= 0),
  ADD COLUMN max_concurrency integer CHECK (max_concurrency >= 0);
`,
}
