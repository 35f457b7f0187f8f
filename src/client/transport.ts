import { Attempt } from './attempt.ts'
import { textOf } from './body.ts'
import { errorOfAnswer } from './errors.ts'
import type { CallOptions, ClientOptions, Fetch } from './options.ts'
import { pause, waitBeforeRetry } from './retry.ts'
import type { Repeats } from './retry.ts'

const TIMEOUT_MS = 60_000
const MAX_RETRIES = 3
const MAX_ERROR_BYTES = 1024 * 1024

export interface Outgoing {
  readonly method: string
  /** Includes the query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Undefined when the request has no body. */
  readonly body?: unknown
  readonly repeats: Repeats
}

/** Reads an answer. Ends the attempt when it has read all that it needs. */
export type Reader<Result> = (response: Response, attempt: Attempt) => Promise<Result>

/** Sends requests, and retries them where that is safe. Each attempt has its own timeout. */
export class Transport {
  readonly #options: ClientOptions
  readonly #baseUrl: string
  readonly #fetch: Fetch

  /** Throws TypeError when `baseUrl` is not an http or https URL. */
  constructor(options: ClientOptions) {
    const { protocol } = new URL(options.baseUrl)
    if (protocol !== 'http:' && protocol !== 'https:')
      throw new TypeError('baseUrl must begin with http:// or https://')
    this.#options = options
    this.#baseUrl = options.baseUrl.replace(/\/+$/, '')
    // In a browser fetch must be called as a member of the window.
    this.#fetch = options.fetch ?? ((url, init) => globalThis.fetch(url, init))
  }

  async send<Result>(outgoing: Outgoing, options: CallOptions, read: Reader<Result>): Promise<Result> {
    const settings = { ...this.#options, ...withoutUndefined(options) }
    const { timeoutMs = TIMEOUT_MS, totalTimeoutMs = Infinity, maxRetries = MAX_RETRIES } = settings
    const url = `${this.#baseUrl}${outgoing.path}`
    const init: RequestInit = {
      method: outgoing.method,
      headers: this.#headers(outgoing, options),
      ...(outgoing.body === undefined ? {} : { body: JSON.stringify(outgoing.body) }),
    }
    const deadline = performance.now() + totalTimeoutMs
    for (let retries = 0; ; retries++) {
      const leftMs = deadline - performance.now()
      const attempt = new Attempt(Math.max(0, Math.min(timeoutMs, leftMs)), options.signal)
      try {
        const response = await this.#fetch(url, { ...init, signal: attempt.signal })
        if (response.ok) return await read(response, attempt)
        throw errorOfAnswer(response.status, response.headers, await textOf(response, attempt, MAX_ERROR_BYTES))
      } catch (cause) {
        const error = attempt.meaningOf(cause)
        attempt.end()
        const waitMs = retries < maxRetries ? waitBeforeRetry(error, retries, outgoing.repeats) : null
        const isLast = waitMs === null || options.signal?.aborted === true || performance.now() + waitMs >= deadline
        if (isLast) throw error
        await pause(waitMs, options.signal)
      }
    }
  }

  #headers(outgoing: Outgoing, { headers, idempotencyKey, ifMatch }: CallOptions): Headers {
    const all = new Headers({ accept: 'application/json', ...outgoing.headers })
    if (outgoing.body !== undefined) all.set('content-type', 'application/json')
    if (idempotencyKey !== undefined) all.set('idempotency-key', idempotencyKey)
    if (ifMatch !== undefined) all.set('if-match', ifMatch)
    for (const [name, value] of Object.entries({ ...this.#options.headers, ...headers })) all.set(name, value)
    return all
  }
}

function withoutUndefined(options: CallOptions): CallOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}
