import type { Migration } from '../migration.ts'

/**
 * Grants of users to tool servers that want OAuth, the consents that wait for the browser to come back, and the clients that the
 * gateway has registered at authorization servers. What is secret is sealed. `version` changes with each token, and `renewing_until`
 * is the lease of the machine that renews it. Servers of the configuration file have no row in `tool_servers`.
 */
export const toolServerGrants: Migration = {
  id: '0030-tool-server-grants',
  sql: `
ALTER TABLE tool_servers ADD COLUMN client_secret bytea;
CREATE TABLE tool_server_grants (
  user_id text NOT NULL REFERENCES users (id),
  server_id text NOT NULL,
  sealed bytea NOT NULL,
  scope text,
  version bigint NOT NULL DEFAULT 1,
  renewing_until timestamptz,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (user_id, server_id)
);
CREATE INDEX tool_server_grants_server ON tool_server_grants (server_id);
CREATE TABLE tool_server_consents (
  digest text PRIMARY KEY,
  user_id text NOT NULL REFERENCES users (id),
  session_id text NOT NULL,
  server_id text NOT NULL,
  sealed bytea NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX tool_server_consents_user ON tool_server_consents (user_id, expires_at);
CREATE TABLE tool_server_clients (
  server_id text NOT NULL,
  issuer text NOT NULL,
  redirect_url text NOT NULL,
  sealed bytea NOT NULL,
  PRIMARY KEY (server_id, issuer, redirect_url)
);
`,
}
