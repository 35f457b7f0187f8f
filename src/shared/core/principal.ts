import type { EntryKey, KeyLimits } from './snapshot.ts'

/** Who is calling, as authentication found it. */
export interface Principal {
  readonly key: EntryKey
  readonly limits: {
    readonly requestsPerMinute: number
    readonly tokensPerMinute: number
    readonly concurrency: number
  }
  /** Of the key's user over all its keys; null: none. */
  readonly userLimits: KeyLimits | null
  /** Of the key's enterprise over all its keys; null: none. */
  readonly enterpriseLimits: KeyLimits | null
  /** Null: all models. */
  readonly models: ReadonlySet<string> | null
}
