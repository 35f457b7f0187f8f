/** A request to the thread of the embedded database; `transaction` is null outside of a transaction. */
export interface ThreadRequest {
  readonly id: number
  readonly transaction: number | null
  readonly work: ThreadWork
}

export type ThreadWork =
  | { readonly kind: 'query'; readonly text: string; readonly parameters: readonly unknown[] }
  | { readonly kind: 'script'; readonly sql: string }
  | { readonly kind: 'copy-in'; readonly table: string; readonly columns: readonly string[]; readonly rows: Uint8Array }
  /** The answer is the number of the transaction. */
  | { readonly kind: 'begin' }
  | { readonly kind: 'end'; readonly outcome: 'commit' | 'rollback' }
  /** The answer is the number of the listener. */
  | { readonly kind: 'listen'; readonly channel: string }
  | { readonly kind: 'unlisten'; readonly listener: number }
  | { readonly kind: 'ping' }
  | { readonly kind: 'close' }

export type FromThread =
  | { readonly kind: 'opened' }
  | { readonly kind: 'done'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'failed'; readonly id: number; readonly message: string; readonly sqlState: string | null }
  | { readonly kind: 'notified'; readonly listener: number; readonly payload: string }
  | { readonly kind: 'fault'; readonly message: string }
