import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Principal } from '../../shared/core/principal.ts'
import { deriveKey, Seal } from '../../shared/runtime/seal.ts'
import { SERVICES } from '../../shared/core/service.ts'
import type { VideoProtocol } from '../../shared/core/service.ts'

/** A job at a provider, and its owner. */
export interface VideoJob {
  readonly providerId: string
  readonly upstreamKeyId: string
  /** The provider's id of the job, and the protocol of its status requests. */
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
const SIGNATURE_BYTES = 24

/**
 * Makes job ids that contain the whole `VideoJob`, encrypted. Any front of any node can serve them, also when nothing else remembers
 * the job. Nobody can forge an id or read the provider from it.
 */
export class JobSeal {
  readonly #seal: Seal
  readonly #linkKey: Buffer

  /** @param secret the server's secret, from which the keys are derived */
  constructor(secret: Buffer) {
    this.#seal = new Seal(secret, 'video job')
    this.#linkKey = deriveKey(secret, 'video link')
  }

  seal(job: VideoJob): string {
    const { providerId, upstreamKeyId, vendorId, model, created, keyId, userId, enterpriseId, protocol } = job
    const fields = [VERSION, providerId, upstreamKeyId, vendorId, model, created, keyId, userId, enterpriseId, protocol]
    return PREFIX + this.#seal.seal(Buffer.from(JSON.stringify(fields))).toString('base64url')
  }

  /** The job of an id; null when this gateway did not make the id. */
  open(id: string): VideoJob | null {
    if (!id.startsWith(PREFIX)) return null
    const bytes = this.#seal.open(Buffer.from(id.slice(PREFIX.length), 'base64url'))
    return bytes === null ? null : jobOf(JSON.parse(bytes.toString('utf8')) as unknown[])
  }

  /** The signature of a link to the video. @param expires the end of the link's validity, Unix seconds */
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

/** Whether the caller may read the job: its key created the job, or belongs to the same user or enterprise. */
export function mayRead({ key }: Principal, job: VideoJob): boolean {
  if (key.id === job.keyId) return true
  if (job.userId !== null && key.userId === job.userId) return true
  return job.enterpriseId !== null && key.enterpriseId === job.enterpriseId
}

function jobOf(fields: unknown[]): VideoJob | null {
  const [version, providerId, upstreamKeyId, vendorId, model, created, keyId, userId, enterpriseId, protocolName] =
    fields
  // Ids from before the field `protocol` was added lack it.
  const protocol = SERVICES.videos.protocols.find((one) => one === (protocolName ?? 'openai-videos'))
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
