import { hash, verify } from '@node-rs/argon2'

/** argon2id with the library's 19 MiB and two passes (OWASP's recommendation). */
export function hashPassword(password: string): Promise<string> {
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
