import { hash, verify } from '@node-rs/argon2'
import { GatewayError } from '../../shared/core/errors.ts'
import { weaknessOf } from './weak-passwords.ts'

/**
 * argon2id with the library's 19 MiB and two passes (OWASP's recommendation). Rejects with INVALID_FIELD where the password is
 * one that is guessed first.
 * @param of who is to have it, and the field that it was given in
 */
export async function hashPassword(
  password: string,
  of: { readonly phone: string; readonly param?: string },
): Promise<string> {
  const { phone, param = '/password' } = of
  const weakness = weaknessOf(password, phone)
  if (weakness !== null) {
    throw new GatewayError('INVALID_FIELD', { message: `${param.slice(1)} ${weakness}: choose another one.`, param })
  }
  return hash(password)
}

/** A hash nobody's password has: checking against it takes as long as against a real one. */
let decoy: Promise<string> | null = null

/** False also for null, after the same time: an unknown phone number cannot be told from a wrong password. */
export async function verifyPassword(stored: string | null, password: string): Promise<boolean> {
  decoy ??= hash('no password')
  const matches = await verify(stored ?? (await decoy), password)
  return stored !== null && matches
}
