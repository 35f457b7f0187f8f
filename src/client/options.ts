export interface ClientOptions {
  /** URL of the gateway, without `/v1`. */
  readonly baseUrl: string
  /** Key for AI requests. */
  readonly apiKey?: string | undefined
  /** Token for the management plane. `login` returns it. */
  readonly token?: string | undefined
  /** Milliseconds for one attempt; for a stream, until it begins and then from event to event. 60 000 by default. */
  readonly timeoutMs?: number | undefined
  /** Milliseconds for all attempts and the waits between them; for a stream, until it begins. No limit by default. */
  readonly totalTimeoutMs?: number | undefined
  /** Attempts after the first one; 3 by default. */
  readonly maxRetries?: number | undefined
  /** Replaces the global `fetch`. */
  readonly fetch?: Fetch | undefined
  /** First part of the name of the header with the version of the messages protocol; `anthropic` by default. */
  readonly vendor?: string | undefined
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** Options of one call. Absent ones are as in the client's options. */
export interface CallOptions {
  /** Aborts the call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
  readonly totalTimeoutMs?: number | undefined
  readonly maxRetries?: number | undefined
  /**
   * A repeated call with this key has no second effect, where the gateway keeps idempotency keys. Creations get a key by
   * default.
   */
  readonly idempotencyKey?: string | undefined
  /** An ETag. The change is made only if the data still has it. */
  readonly ifMatch?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>
