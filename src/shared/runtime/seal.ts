import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16
const NOTHING = Buffer.alloc(0)

/**
 * Encrypts and authenticates bytes for one purpose. Only a holder of the secret can make or read them.
 *
 *   nonce (12 bytes) · AES-256-GCM of the bytes · tag (16 bytes)
 */
export class Seal {
  readonly #key: Buffer

  /** @param purpose selects the key that is derived from the secret: a Seal of another purpose cannot open these bytes */
  constructor(secret: Buffer, purpose: string) {
    this.#key = deriveKey(secret, purpose)
  }

  /** @param context names what the bytes belong to, such as a row's id: they open only with the same context */
  seal(bytes: Buffer, context: Buffer = NOTHING): Buffer {
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv).setAAD(context)
    return Buffer.concat([iv, cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
  }

  /** Null when the bytes were sealed with another secret, purpose or context, or were changed. */
  open(sealed: Buffer, context: Buffer = NOTHING): Buffer | null {
    if (sealed.length < IV_BYTES + TAG_BYTES) return null
    try {
      const iv = sealed.subarray(0, IV_BYTES)
      const decipher = createDecipheriv('aes-256-gcm', this.#key, iv, { authTagLength: TAG_BYTES }).setAAD(context)
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
      return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()])
    } catch {
      return null
    }
  }
}

/** Derives a separate key for each purpose from one secret (HKDF-SHA-256). */
export function deriveKey(secret: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `sluice ${purpose}`, KEY_BYTES))
}
