import type { EntryKey } from './snapshot.ts'

/** Who is calling, as authentication found it. */
export interface Principal {
  readonly key: EntryKey
  readonly limits: {
    readonly requestsPerMinute: number
    readonly tokensPerMinute: number
    readonly concurrency: number
  }
  /** Null: all models. */
  readonly models: ReadonlySet<string> | null
}
