import type { Migration } from '../migration.ts'

/**
 * Alerts, their channels, what has crossed its threshold, and the messages with their outcome. An alert without an enterprise is one
 * of the platform. The messages outlive their alert: they are the delivery log.
 *
 * `alert_states` has a row while something is beyond a threshold, for each node that sees it ('' where all nodes see the same).
 * `alert_sender` names the node that sends. `wallets.charged_before_micro` is what was charged before the last credit: alerts of
 * wallets compare with what the wallet held then.
 */
export const alerts: Migration = {
  id: '0019-alerts',
  sql: `
CREATE TABLE alerts (
  id text PRIMARY KEY,
  enterprise_id text REFERENCES enterprises (id),
  name text,
  kind text NOT NULL,
  threshold double precision,
  owners text[],
  min_requests integer,
  quiet jsonb,
  enabled boolean NOT NULL,
  baselined boolean NOT NULL DEFAULT false,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz(3) NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX alerts_enterprise ON alerts (enterprise_id, created_at);

CREATE TABLE alert_channels (
  id text PRIMARY KEY,
  alert_id text NOT NULL REFERENCES alerts (id) ON DELETE CASCADE,
  place integer NOT NULL,
  type text NOT NULL CHECK (type IN ('webhook', 'mail')),
  address text NOT NULL,
  secret bytea,
  old_secret bytea,
  old_secret_until timestamptz,
  CHECK ((type = 'webhook') = (secret IS NOT NULL))
);
CREATE INDEX alert_channels_alert ON alert_channels (alert_id, place);

CREATE TABLE alert_states (
  alert_id text NOT NULL REFERENCES alerts (id) ON DELETE CASCADE,
  subject text NOT NULL,
  node text NOT NULL,
  level double precision NOT NULL,
  clear_since timestamptz,
  seen_at timestamptz NOT NULL,
  PRIMARY KEY (alert_id, subject, node)
);

CREATE TABLE alert_deliveries (
  id text PRIMARY KEY,
  event_id text NOT NULL,
  enterprise_id text,
  alert_id text,
  channel_id text,
  kind text NOT NULL,
  subject text NOT NULL,
  message text NOT NULL,
  type text NOT NULL CHECK (type IN ('webhook', 'mail')),
  address text NOT NULL,
  body text NOT NULL,
  status text NOT NULL CHECK (status IN ('pending', 'held', 'delivered', 'failed', 'dropped')),
  attempts integer NOT NULL DEFAULT 0,
  next_at timestamptz,
  expires_at timestamptz NOT NULL,
  response_status integer,
  error text,
  created_at timestamptz(3) NOT NULL,
  ended_at timestamptz(3)
);
CREATE INDEX alert_deliveries_due ON alert_deliveries (next_at) WHERE status IN ('pending', 'held');
CREATE INDEX alert_deliveries_scope ON alert_deliveries ((coalesce(enterprise_id, '')), created_at, id);
CREATE INDEX alert_deliveries_age ON alert_deliveries (created_at);

CREATE TABLE alert_summaries (
  enterprise_id text PRIMARY KEY REFERENCES enterprises (id),
  frequency text NOT NULL CHECK (frequency IN ('off', 'daily', 'weekly')),
  recipients text[] NOT NULL,
  last_period text
);

CREATE TABLE alert_sender (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  node text NOT NULL,
  until timestamptz NOT NULL
);

ALTER TABLE wallets ADD COLUMN charged_before_micro bigint NOT NULL DEFAULT 0;
`,
}
