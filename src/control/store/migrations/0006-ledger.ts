import type { Migration } from '../migration.ts'

/**
 * Money and budgets. A ledger transaction moves an amount from one account of an enterprise to another, so its two entries
 * always sum to zero. `wallets` and `budget_use` are sums of the ledger and of the log, updated in the same database transactions.
 *
 * `budget_use` counts by the journal of the use (`node/writer`; '' when the journal is closed), because running fronts report
 * their own use. A payment is the only change of money that they must be told.
 */
export const ledger: Migration = {
  id: '0006-ledger',
  sql: `
ALTER TABLE entry_keys
  ADD COLUMN monthly_budget bigint CHECK (monthly_budget >= 0),
  ADD COLUMN monthly_tokens bigint CHECK (monthly_tokens >= 0);

ALTER TABLE enterprises
  ADD COLUMN status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
  ADD COLUMN currency text NOT NULL DEFAULT 'USD' CHECK (currency ~ '^[A-Z]{3}$'),
  ADD COLUMN time_zone text NOT NULL DEFAULT 'UTC',
  ADD COLUMN is_prepaid boolean NOT NULL DEFAULT false,
  ADD COLUMN monthly_budget bigint CHECK (monthly_budget >= 0),
  ADD COLUMN monthly_tokens bigint CHECK (monthly_tokens >= 0);

CREATE TABLE departments (
  id text PRIMARY KEY,
  enterprise_id text NOT NULL REFERENCES enterprises (id),
  parent_id text CHECK (parent_id <> id),
  name text NOT NULL,
  monthly_budget bigint CHECK (monthly_budget >= 0),
  monthly_tokens bigint CHECK (monthly_tokens >= 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (enterprise_id, id),
  FOREIGN KEY (enterprise_id, parent_id) REFERENCES departments (enterprise_id, id)
);

CREATE TABLE members (
  id text PRIMARY KEY,
  enterprise_id text NOT NULL REFERENCES enterprises (id),
  user_id text NOT NULL REFERENCES users (id),
  department_id text,
  role text NOT NULL CHECK (role IN ('owner', 'admin', 'finance', 'employee')),
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
  monthly_budget bigint CHECK (monthly_budget >= 0),
  monthly_tokens bigint CHECK (monthly_tokens >= 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (enterprise_id, user_id),
  FOREIGN KEY (enterprise_id, department_id) REFERENCES departments (enterprise_id, id)
);
CREATE INDEX members_user ON members (user_id);

CREATE TABLE ledger_transactions (
  id text PRIMARY KEY,
  enterprise_id text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('topup', 'refund', 'adjustment', 'usage')),
  from_account text NOT NULL CHECK (from_account IN ('wallet', 'payments', 'adjustments', 'usage')),
  to_account text NOT NULL CHECK (to_account IN ('wallet', 'payments', 'adjustments', 'usage')),
  amount_micro bigint NOT NULL CHECK (amount_micro > 0),
  reference text,
  actor text,
  at timestamptz(3) NOT NULL DEFAULT now(),
  CHECK (from_account <> to_account)
);
CREATE INDEX ledger_transactions_enterprise ON ledger_transactions (enterprise_id, at, id);

CREATE VIEW ledger_entries AS
  SELECT id AS transaction_id, enterprise_id, kind, from_account AS account, -amount_micro AS amount_micro, at
    FROM ledger_transactions
  UNION ALL
  SELECT id, enterprise_id, kind, to_account, amount_micro, at FROM ledger_transactions;

CREATE FUNCTION refuse_change_of_ledger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE 'the ledger is only ever added to' USING ERRCODE = 'integrity_constraint_violation';
END
$$;
CREATE TRIGGER ledger_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_transactions
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_ledger();

CREATE TABLE wallets (
  enterprise_id text PRIMARY KEY,
  credited_micro bigint NOT NULL DEFAULT 0 CHECK (credited_micro >= 0),
  charged_micro bigint NOT NULL DEFAULT 0 CHECK (charged_micro >= 0)
);

CREATE TABLE budget_use (
  budget text NOT NULL,
  writer text NOT NULL,
  cost_micro bigint NOT NULL,
  tokens bigint NOT NULL,
  PRIMARY KEY (budget, writer)
);
CREATE INDEX budget_use_writer ON budget_use (writer) WHERE writer <> '';

CREATE TRIGGER snapshot_of_departments AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON departments
  FOR EACH STATEMENT EXECUTE FUNCTION bump_snapshot_version();
CREATE TRIGGER snapshot_of_members AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON members
  FOR EACH STATEMENT EXECUTE FUNCTION bump_snapshot_version();
CREATE TRIGGER snapshot_of_wallets AFTER UPDATE ON wallets
  FOR EACH ROW WHEN (OLD.credited_micro <> NEW.credited_micro) EXECUTE FUNCTION bump_snapshot_version();
CREATE TRIGGER snapshot_of_new_wallets AFTER INSERT ON wallets
  FOR EACH ROW WHEN (NEW.credited_micro <> 0) EXECUTE FUNCTION bump_snapshot_version();
`,
}
