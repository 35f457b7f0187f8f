/** The setting of a key or an enterprise: which bodies of its requests are kept, and for how long. */
export interface CaptureSettings {
  readonly requests: boolean
  readonly answers: boolean
  /** Share of the requests, 0 to 1. */
  readonly sample: number
  /** Patterns of RE2 whose matches are redacted, besides credentials. */
  readonly redact: readonly string[]
  readonly retainDays: number
}

/** The part of the setting that fronts need. */
export type CaptureRule = Pick<CaptureSettings, 'requests' | 'answers' | 'sample'>

/** A body, or its beginning, as it passed the front. */
export interface CapturedBytes {
  readonly bytes: Uint8Array
  /** The length of the whole body. */
  readonly size: number
  /** False: the client left, or the connection broke, before the end. */
  readonly isComplete: boolean
}

/** The bodies of one request, on their way from a front to the control process. */
export interface Capture {
  readonly requestId: string
  /** Unix milliseconds at which the request arrived. */
  readonly atMs: number
  readonly keyId: string
  readonly userId: string | null
  readonly enterpriseId: string | null
  readonly request: CapturedBytes | null
  readonly answer: CapturedBytes | null
}

export interface CaptureBatch {
  readonly type: 'captures'
  readonly id: number
  readonly captures: readonly Capture[]
}

export interface CaptureReply {
  readonly type: 'captures-reply'
  readonly id: number
  /** False: the database could not take them; the front sends them again. */
  readonly isStored: boolean
}

/** Returns null when the setting keeps nothing. */
export function captureRuleOf(settings: CaptureSettings | null): CaptureRule | null {
  if (settings === null) return null
  const { requests, answers, sample } = settings
  return (requests || answers) && sample > 0 ? { requests, answers, sample } : null
}

/** Decides by the request id alone, so that every process decides the same. */
export function isSampled(requestId: string, sample: number): boolean {
  if (sample >= 1) return true
  // FNV-1a, and a final mix: ids of one process differ only in their last characters.
  let hash = 0x811c9dc5
  for (let at = 0; at < requestId.length; at++) hash = Math.imul(hash ^ requestId.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32 < sample
}
