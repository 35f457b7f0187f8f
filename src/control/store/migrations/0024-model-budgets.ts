import type { Migration } from '../migration.ts'

/**
 * Groups of models, and budgets for models and groups: a list of objects with `models`, `money` and `tokens`, in the order in which
 * they were given; null: none.
 */
export const modelBudgets: Migration = {
  id: '0024-model-budgets',
  sql: `
CREATE TABLE model_groups (
  id text PRIMARY KEY,
  models text[] NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE TRIGGER model_groups_snapshot AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON model_groups
  FOR EACH STATEMENT EXECUTE FUNCTION bump_snapshot_version();

ALTER TABLE enterprises ADD COLUMN model_budgets jsonb;
ALTER TABLE departments ADD COLUMN model_budgets jsonb;
ALTER TABLE members ADD COLUMN model_budgets jsonb;
ALTER TABLE entry_keys ADD COLUMN model_budgets jsonb;
`,
}
