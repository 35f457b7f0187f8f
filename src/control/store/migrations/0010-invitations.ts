import type { Migration } from '../migration.ts'

/** Invitations and join requests. An invitation is found by the digest of its token. It expires by its time, not by its status. */
export const invitations: Migration = {
  id: '0010-invitations',
  sql: `
CREATE TABLE invitations (
  id text PRIMARY KEY,
  enterprise_id text NOT NULL REFERENCES enterprises (id),
  email text NOT NULL,
  role text NOT NULL CHECK (role IN ('owner', 'admin', 'finance', 'employee')),
  department_id text,
  token_digest text NOT NULL UNIQUE,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'accepted', 'cancelled')),
  invited_by text NOT NULL,
  expires_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (enterprise_id, department_id) REFERENCES departments (enterprise_id, id) ON DELETE CASCADE
);
CREATE INDEX invitations_enterprise ON invitations (enterprise_id, created_at);

CREATE TABLE join_requests (
  id text PRIMARY KEY,
  enterprise_id text NOT NULL REFERENCES enterprises (id),
  user_id text NOT NULL REFERENCES users (id),
  message text,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'approved', 'rejected', 'cancelled')),
  decided_by text,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX join_requests_open ON join_requests (enterprise_id, user_id) WHERE status = 'pending';
CREATE INDEX join_requests_enterprise ON join_requests (enterprise_id, created_at);
`,
}
