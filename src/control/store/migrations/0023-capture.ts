import type { Migration } from '../migration.ts'

/**
 * Captured bodies. A tenant is an enterprise, a user, or the platform ("e:…", "u:…", "p"); its bodies are sealed under its data key.
 * Without the data key they cannot be read: clearing it erases them. `captured_bodies.uses` counts the captures that refer
 * to a body. `capture_erasures` keeps
 * bodies out that were on their way when all of their tenant were erased. `captures.part` is 'request' or 'answer'.
 */
export const capture: Migration = {
  id: '0023-capture',
  sql: `
ALTER TABLE entry_keys ADD COLUMN capture jsonb;
ALTER TABLE enterprises ADD COLUMN capture jsonb;

CREATE TABLE capture_keys (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant text NOT NULL,
  sealed bytea,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX capture_keys_tenant ON capture_keys (tenant);
CREATE INDEX capture_keys_erased ON capture_keys (id) WHERE sealed IS NULL;

CREATE TABLE capture_erasures (
  tenant text PRIMARY KEY,
  at timestamptz NOT NULL
);

CREATE TABLE captured_bodies (
  key_id bigint NOT NULL,
  digest bytea NOT NULL,
  sealed bytea NOT NULL,
  uses integer NOT NULL,
  PRIMARY KEY (key_id, digest)
);
ALTER TABLE captured_bodies ALTER COLUMN sealed SET STORAGE EXTERNAL;

CREATE TABLE captures (
  request_id text NOT NULL,
  part text NOT NULL CHECK (part IN ('request', 'answer')),
  key_id bigint NOT NULL,
  digest bytea NOT NULL,
  size bigint NOT NULL,
  truncated boolean NOT NULL,
  complete boolean NOT NULL,
  redactions integer NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (request_id, part)
);
CREATE INDEX captures_expiry ON captures (expires_at);
CREATE INDEX captures_key ON captures (key_id);
`,
}
