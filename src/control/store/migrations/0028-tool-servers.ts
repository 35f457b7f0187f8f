import type { Migration } from '../migration.ts'

/**
 * Upstream servers of tools that admins made, and the tools of all upstream servers, also of those in configuration files. Headers are
 * sealed, because they have credentials. `allowed` is the definition of a tool that an admin has allowed, `seen` is the newest one
 * that the server gave; null: the server has it no more. They are held where they differ.
 */
export const toolServers: Migration = {
  id: '0028-tool-servers',
  sql: `
CREATE TABLE tool_servers (
  id text PRIMARY KEY,
  settings jsonb NOT NULL,
  headers bytea NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz(3) NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE server_tools (
  server_id text NOT NULL,
  name text NOT NULL,
  allowed text,
  allowed_digest text,
  seen text,
  seen_digest text,
  changed_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (server_id, name)
);
ALTER TABLE request_log
  ADD COLUMN call_cost_micro bigint,
  ADD COLUMN argument_bytes bigint,
  ADD COLUMN result_bytes bigint;
`,
}
