import type { CaptureRule } from './capture.ts'
import type { EntryKey, KeyLimits } from './snapshot.ts'

/** The authenticated caller. */
export interface Principal {
  /** Grows with each snapshot that the front takes. A request keeps its principal while newer ones come. */
  readonly generation: number
  readonly key: EntryKey
  readonly limits: {
    readonly requestsPerMinute: number
    readonly tokensPerMinute: number
    readonly concurrency: number
  }
  /** Limits of the key's user over all its keys; null: none. */
  readonly userLimits: KeyLimits | null
  /** Limits of the key's enterprise over all its keys; null: none. */
  readonly enterpriseLimits: KeyLimits | null
  /** Null: all models. */
  readonly models: ReadonlySet<string> | null
  /** Null: no body is captured. */
  readonly capture: CaptureRule | null
}
