import type { Migration } from '../migration.ts'

/**
 * Verified e-mail addresses, tokens that are mailed, identities at an OpenID provider, and one-time passwords. Users whom an OpenID
 * provider brings have neither a phone number nor a password. A user has at most one verified address, and one address has at most one
 * user: `users_email` of 0017.
 */
export const signIn: Migration = {
  id: '0022-sign-in',
  sql: `
ALTER TABLE users
  ALTER COLUMN phone DROP NOT NULL,
  ALTER COLUMN password_hash DROP NOT NULL,
  ADD COLUMN email_verified_at timestamptz;

CREATE TABLE mailed_tokens (
  digest text PRIMARY KEY,
  user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  purpose text NOT NULL CHECK (purpose IN ('reset_password', 'verify_email')),
  email text NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX mailed_tokens_user ON mailed_tokens (user_id);
CREATE INDEX mailed_tokens_expiry ON mailed_tokens (expires_at);

CREATE TABLE user_identities (
  issuer text NOT NULL,
  subject text NOT NULL,
  user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (issuer, subject)
);
CREATE INDEX user_identities_user ON user_identities (user_id);

CREATE TABLE sign_in_codes (
  digest text PRIMARY KEY,
  user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  expires_at timestamptz NOT NULL
);
CREATE INDEX sign_in_codes_user ON sign_in_codes (user_id);
CREATE INDEX sign_in_codes_expiry ON sign_in_codes (expires_at);

ALTER TABLE members ADD COLUMN from_claims boolean NOT NULL DEFAULT false;

CREATE TABLE user_totp (
  user_id text PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
  secret bytea NOT NULL,
  confirmed_at timestamptz,
  last_step bigint,
  wrong_codes integer NOT NULL DEFAULT 0,
  wrong_since timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE user_recovery_codes (
  user_id text NOT NULL REFERENCES user_totp (user_id) ON DELETE CASCADE,
  digest text NOT NULL,
  PRIMARY KEY (user_id, digest)
);
`,
}
