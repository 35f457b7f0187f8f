import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16
const NOTHING = Buffer.alloc(0)

/**
 * What is sealed can be read and made by those alone who have the secret, and is good for one purpose alone.
 *
 *   nonce (12 bytes) · AES-256-GCM of the bytes · tag (16 bytes)
 */
export class Seal {
  readonly #key: Buffer

  /** @param purpose names the key, which is derived from the secret: other purposes cannot open what is sealed for this one */
  constructor(secret: Buffer, purpose: string) {
    this.#key = deriveKey(secret, purpose)
  }

  /** @param context what the bytes belong to, such as a row's id: they open together with the same one alone */
  seal(bytes: Buffer, context: Buffer = NOTHING): Buffer {
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv).setAAD(context)
    return Buffer.concat([iv, cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
  }

  /** Null when it was not sealed with this secret, for this purpose and context, or not as it is now. */
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

/** A key of its own for each purpose, from one secret (HKDF-SHA-256). */
export function deriveKey(secret: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `sluice ${purpose}`, KEY_BYTES))
}
