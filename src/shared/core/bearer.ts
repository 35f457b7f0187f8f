import { createHash, timingSafeEqual } from 'node:crypto'

/** The token of an `Authorization: Bearer` header; null without one. */
export function bearerToken(authorization: string | undefined): string | null {
  return /^bearer +(\S+) *$/i.exec(authorization ?? '')?.[1] ?? null
}

/** Compares in constant time: the time does not depend on where the texts differ. */
export function isSameSecret(a: string, b: string): boolean {
  return timingSafeEqual(digest(a), digest(b))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
