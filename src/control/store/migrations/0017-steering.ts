import type { Migration } from '../migration.ts'

/**
 * Deleted enterprises and users keep their rows, because the books and the log refer to them. The phone number and the e-mail address of
 * a deleted user may be used again. An invitation is for one address: an e-mail address or a phone number. The audit log has
 * the old and the new values of what changed.
 */
export const steering: Migration = {
  id: '0017-steering',
  sql: `
ALTER TABLE users
  DROP CONSTRAINT users_status_check,
  ADD CONSTRAINT users_status_check CHECK (status IN ('active', 'disabled', 'deleted')),
  DROP CONSTRAINT users_phone_key,
  ADD COLUMN email text,
  ADD COLUMN deleted_at timestamptz;
CREATE UNIQUE INDEX users_phone ON users (phone) WHERE status <> 'deleted';
CREATE UNIQUE INDEX users_email ON users (lower(email)) WHERE status <> 'deleted' AND email IS NOT NULL;

ALTER TABLE enterprises
  DROP CONSTRAINT enterprises_status_check,
  ADD CONSTRAINT enterprises_status_check CHECK (status IN ('active', 'disabled', 'deleted')),
  ADD COLUMN deleted_at timestamptz;

ALTER TABLE invitations
  ALTER COLUMN email DROP NOT NULL,
  ADD COLUMN phone text,
  ADD CONSTRAINT invitations_address CHECK (num_nonnulls(email, phone) = 1);

ALTER TABLE audit_log ADD COLUMN changes json;
`,
}
