export interface ClientOptions {
  /** Where the gateway is, without `/v1`. */
  readonly baseUrl: string
  /** Of AI requests. */
  readonly apiKey?: string | undefined
  /** Of the management plane: what `login` answered. */
  readonly token?: string | undefined
  /** For one attempt, in milliseconds; of a stream, until it begins and then from event to event. 60 000 by default. */
  readonly timeoutMs?: number | undefined
  /** For all attempts together and the waits between them, in milliseconds; of a stream, until it begins. None by default. */
  readonly totalTimeoutMs?: number | undefined
  /** Attempts after the first one; 3 by default. */
  readonly maxRetries?: number | undefined
  /** In place of the global one. */
  readonly fetch?: Fetch | undefined
  /** Begins the name of the header with the version of the messages protocol; `anthropic` by default. */
  readonly vendor?: string | undefined
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** Of one call; what is not given is as in the client's options. */
export interface CallOptions {
  /** Ends the call; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
  readonly totalTimeoutMs?: number | undefined
  readonly maxRetries?: number | undefined
  /** Makes the same call again have no further effect, where the gateway keeps such keys. Creations get one by themselves. */
  readonly idempotencyKey?: string | undefined
  /** An ETag: the change is made only if nothing has changed since. */
  readonly ifMatch?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>
