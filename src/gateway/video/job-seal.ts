import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Principal } from '../../core/principal.ts'
import { SERVICE_PROTOCOLS } from '../../core/service.ts'
import type { VideoProtocol } from '../../core/service.ts'

/** A job at a provider, and whose it is. */
export interface VideoJob {
  readonly providerId: string
  readonly upstreamKeyId: string
  /** The provider's name for it, and the language in which it is looked at. */
  readonly vendorId: string
  readonly protocol: VideoProtocol
  readonly model: string
  /** Unix seconds. */
  readonly created: number
  readonly keyId: string
  readonly userId: string | null
  readonly enterpriseId: string | null
}

const PREFIX = 'video_'
const VERSION = 1
const KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16
const SIGNATURE_BYTES = 24

/**
 * Job ids that carry all there is to know of a job, sealed: any front of any node can serve them, also when nothing else
 * remembers the job, and nobody can make one up or read the provider out of it.
 */
export class JobSeal {
  readonly #sealKey: Buffer
  readonly #linkKey: Buffer

  /** @param secret of the server; the keys are derived from it */
  constructor(secret: Buffer) {
    this.#sealKey = derive(secret, 'video job')
    this.#linkKey = derive(secret, 'video link')
  }

  seal(job: VideoJob): string {
    const { providerId, upstreamKeyId, vendorId, model, created, keyId, userId, enterpriseId, protocol } = job
    const fields = [VERSION, providerId, upstreamKeyId, vendorId, model, created, keyId, userId, enterpriseId, protocol]
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#sealKey, iv)
    const sealed = Buffer.concat([iv, cipher.update(JSON.stringify(fields)), cipher.final(), cipher.getAuthTag()])
    return PREFIX + sealed.toString('base64url')
  }

  /** Null when it is not one of ours. */
  open(id: string): VideoJob | null {
    if (!id.startsWith(PREFIX)) return null
    const bytes = Buffer.from(id.slice(PREFIX.length), 'base64url')
    if (bytes.length <= IV_BYTES + TAG_BYTES) return null
    try {
      const decipher = createDecipheriv('aes-256-gcm', this.#sealKey, bytes.subarray(0, IV_BYTES))
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
      const text = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()])
      return jobOf(JSON.parse(text.toString('utf8')) as unknown[])
    } catch {
      return null
    }
  }

  /** What makes a link to the video good until then. @param expires Unix seconds */
  sign(id: string, expires: number): string {
    return createHmac('sha256', this.#linkKey)
      .update(`${id} ${expires}`)
      .digest()
      .subarray(0, SIGNATURE_BYTES)
      .toString('base64url')
  }

  isSigned(id: string, expires: number, signature: string): boolean {
    const expected = Buffer.from(this.sign(id, expires))
    const given = Buffer.from(signature)
    return given.length === expected.length && timingSafeEqual(given, expected)
  }
}

/** The key that began it, or another one of the same user or enterprise. */
export function mayRead({ key }: Principal, job: VideoJob): boolean {
  if (key.id === job.keyId) return true
  if (job.userId !== null && key.userId === job.userId) return true
  return job.enterpriseId !== null && key.enterpriseId === job.enterpriseId
}

function derive(secret: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `sluice ${purpose}`, KEY_BYTES))
}

function jobOf(fields: unknown[]): VideoJob | null {
  const [version, providerId, upstreamKeyId, vendorId, model, created, keyId, userId, enterpriseId, word] = fields
  // Jobs that were begun before there was a choice have no word for it.
  const protocol = SERVICE_PROTOCOLS.videos.find((one) => one === (word ?? 'openai-videos'))
  if (version !== VERSION || protocol === undefined) return null
  return {
    providerId: String(providerId),
    upstreamKeyId: String(upstreamKeyId),
    vendorId: String(vendorId),
    protocol,
    model: String(model),
    created: Number(created),
    keyId: String(keyId),
    userId: typeof userId === 'string' ? userId : null,
    enterpriseId: typeof enterpriseId === 'string' ? enterpriseId : null,
  }
}
