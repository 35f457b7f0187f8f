import { createHmac, randomBytes } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'

const PERIOD_S = 30
const DIGITS = 6
/** Steps before and after the present one whose codes are valid: clocks of phones are not exact. */
const WINDOW = 1
const SECRET_BYTES = 20
const RECOVERY_CODES = 10
/** Without letters and digits that look alike. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789'
const RECOVERY_LENGTH = 16
const RECOVERY_FORM = /^[a-z2-9]{16}$/

export function newTotpSecret(): Buffer {
  return randomBytes(SECRET_BYTES)
}

/** The secret for people who type it, and the address of the QR code. */
export function enrolment(secret: Buffer, label: string): { readonly secret: string; readonly uri: string } {
  const totp = totpOf(secret, label)
  return { secret: totp.secret.base32, uri: totp.toString() }
}

/** Returns the time step of a valid code (RFC 6238), which must be used only once; null for another code. */
export function stepOf(secret: Buffer, code: string, nowMs: number): number | null {
  if (!/^\d{6}$/.test(code)) return null
  const delta = totpOf(secret, '').validate({ token: code, timestamp: nowMs, window: WINDOW })
  return delta === null ? null : Math.floor(nowMs / 1000 / PERIOD_S) + delta
}

/** Makes codes for a user whose authenticator is lost, in groups of four characters. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: RECOVERY_CODES }, () => {
    const characters: string[] = []
    while (characters.length < RECOVERY_LENGTH) {
      for (const byte of randomBytes(RECOVERY_LENGTH)) {
        // Bytes past the last whole multiple would make some characters likelier.
        if (byte >= 256 - (256 % ALPHABET.length) || characters.length === RECOVERY_LENGTH) continue
        characters.push(ALPHABET.charAt(byte % ALPHABET.length))
      }
    }
    return (characters.join('').match(/.{4}/g) ?? []).join('-')
  })
}

/** The digest under which a recovery code is stored; null when the text is none. */
export function digestOfRecoveryCode(code: string, key: Buffer): string | null {
  const plain = code.toLowerCase().replace(/[\s-]/g, '')
  return RECOVERY_FORM.test(plain) ? createHmac('sha256', key).update(plain).digest('hex') : null
}

function totpOf(secret: Buffer, label: string): TOTP {
  const bytes = new Uint8Array(secret)
  return new TOTP({
    issuer: 'Sluice',
    label: label === '' ? 'Sluice' : label,
    algorithm: 'SHA1',
    digits: DIGITS,
    period: PERIOD_S,
    secret: new Secret({ buffer: bytes.buffer }),
  })
}
