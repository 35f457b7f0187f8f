import { createHmac, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip, gzipSync } from 'node:zlib'
import { deriveKey, Seal } from '../../shared/runtime/seal.ts'

const unpack = promisify(gunzip)

const DATA_KEY_BYTES = 32
/** Bodies are at most 1 MiB, and their marks of redactions are bounded with them. */
const MAX_TEXT_BYTES = 4 * 1024 * 1024

/** A body at rest. */
export interface SealedBody {
  /** The HMAC of the text under a key of the tenant: equal bodies of one tenant have the same, and nobody else can tell. */
  readonly digest: Buffer
  readonly sealed: Buffer
}

export function newDataKey(): Buffer {
  return randomBytes(DATA_KEY_BYTES)
}

export function sealBody(dataKey: Buffer, text: Buffer): SealedBody {
  const digest = createHmac('sha256', deriveKey(dataKey, 'digest of a captured body')).update(text).digest()
  return { digest, sealed: sealOf(dataKey).seal(gzipSync(text), digest) }
}

/** Null when the body was sealed with another key, or was changed. */
export async function openBody(dataKey: Buffer, { digest, sealed }: SealedBody): Promise<string | null> {
  const packed = sealOf(dataKey).open(sealed, digest)
  return packed === null ? null : (await unpack(packed, { maxOutputLength: MAX_TEXT_BYTES })).toString('utf8')
}

function sealOf(dataKey: Buffer): Seal {
  return new Seal(dataKey, 'captured body')
}
