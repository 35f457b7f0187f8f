import { hash, verify } from '@node-rs/argon2'
import { GatewayError } from '../../shared/core/errors.ts'
import { weaknessOf } from './weak-passwords.ts'

/**
 * Hashes with argon2id, with the library's 19 MiB and two passes (OWASP's recommendation). Rejects with INVALID_FIELD when the
 * password is easy to guess.
 * @param of the phone number of the user, and the field of the password
 */
export async function hashPassword(
  password: string,
  of: { readonly phone: string | null; readonly param?: string },
): Promise<string> {
  const { phone, param = '/password' } = of
  const weakness = weaknessOf(password, phone)
  if (weakness !== null) {
    throw new GatewayError('INVALID_FIELD', { message: `${param.slice(1)} ${weakness}: choose another one.`, param })
  }
  return hash(password)
}

/** A hash that no user has: a check against it takes as long as a check against a real one. */
let decoy: Promise<string> | null = null

/** Also returns false for null, after the same time, so that an unknown phone number looks like a wrong password. */
export async function verifyPassword(stored: string | null, password: string): Promise<boolean> {
  decoy ??= hash('no password')
  const matches = await verify(stored ?? (await decoy), password)
  return stored !== null && matches
}
