import type { Migration } from '../migration.ts'

/** The platform's cap of an enterprise, beside the budget that the enterprise sets itself. */
export const platformBudget: Migration = {
  id: '0015-platform-budget',
  sql: `
ALTER TABLE enterprises ADD COLUMN platform_monthly_budget bigint CHECK (platform_monthly_budget >= 0);
`,
}
