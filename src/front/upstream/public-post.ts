import { GatewayError } from '../../shared/core/errors.ts'
import { UpstreamReach } from '../../shared/core/upstream-reach.ts'
import type { Clock } from '../../shared/runtime/clock.ts'
import { DeadlineClock } from '../../shared/runtime/deadlines.ts'
import { AddressRefused } from './connector.ts'
import { Http1Client } from './http1/http1-client.ts'
import type { Http1ClientOptions } from './http1/http1-client.ts'
import type { UpstreamHeaders } from './upstream-client.ts'

const TIMEOUTS = { connectMs: 5_000, firstByteMs: 10_000, idleMs: 5_000, totalMs: 10_000 }
/** The answer is read up to here, and not kept. */
const MAX_ANSWER_BYTES = 65_536

export interface PublicPostAnswer {
  /** Null: there was no answer. */
  readonly status: number | null
  /** The reason why there was none, in the gateway's own words: who chose the address must not read a network through the gateway. */
  readonly error: string | null
  readonly retryAfterSeconds: number | null
}

type Network = Pick<Http1ClientOptions, 'reach' | 'connect' | 'lookup'>

/**
 * Posts to addresses that somebody other than the operator chose: each call on a new connection, to an address within `reach`, without
 * redirects, and within ten seconds.
 */
export class PublicPost {
  readonly #network: Network
  readonly #deadlines: DeadlineClock
  readonly #onFault: (cause: unknown) => void
  #running = 0

  constructor(clock: Clock, { onFault, ...network }: Network & { readonly onFault: (cause: unknown) => void }) {
    this.#network = { ...network, reach: network.reach ?? new UpstreamReach() }
    this.#deadlines = new DeadlineClock(clock)
    this.#onFault = onFault
  }

  /** Never rejects. */
  async post(
    url: URL,
    headers: Readonly<Record<string, string>>,
    body: string,
    signal: AbortSignal,
  ): Promise<PublicPostAnswer> {
    const client = new Http1Client({ ...this.#network, deadlines: this.#deadlines, maxConnections: 1 })
    this.#running += 1
    this.#deadlines.start(this.#onFault)
    try {
      return await this.#call(client, url, Object.entries(headers).flat(), Buffer.from(body), signal)
    } catch (cause) {
      return { status: null, error: wordsOf(GatewayError.from(cause)), retryAfterSeconds: null }
    } finally {
      await client.close()
      this.#running -= 1
      if (this.#running === 0) this.#deadlines.stop()
    }
  }

  #call(
    client: Http1Client,
    url: URL,
    headers: readonly string[],
    body: Buffer,
    signal: AbortSignal,
  ): Promise<PublicPostAnswer> {
    return new Promise((resolve) => {
      let status: number | null = null
      let retryAfterSeconds: number | null = null
      let left = MAX_ANSWER_BYTES
      const end = (error: string | null): void => {
        signal.removeEventListener('abort', onAbort)
        // An answer that breaks off has told its status.
        resolve({ status, error: status === null ? error : null, retryAfterSeconds })
      }
      const call = client.send(
        {
          origin: url.origin,
          path: url.pathname + url.search,
          method: 'POST',
          headers,
          body,
          timeouts: TIMEOUTS,
          once: true,
          publicOnly: true,
        },
        {
          onHead: (answered, answerHeaders) => {
            status = answered
            retryAfterSeconds = retryAfterOf(answerHeaders)
          },
          onData: (chunk) => {
            left -= chunk.length
            if (left >= 0) return
            call.abort()
            end(null)
          },
          onEnd: () => {
            end(null)
          },
          onError: (error) => {
            end(wordsOf(error))
          },
        },
      )
      const onAbort = (): void => {
        call.abort()
        end('The gateway ended the call.')
      }
      if (signal.aborted) onAbort()
      else signal.addEventListener('abort', onAbort, { once: true })
    })
  }
}

function retryAfterOf(headers: UpstreamHeaders): number | null {
  const value = headers['retry-after']
  return typeof value === 'string' && /^\d{1,6}$/.test(value) ? Number(value) : null
}

function wordsOf({ code, cause }: GatewayError): string {
  if (cause instanceof AddressRefused) return 'The host has no address that may be called.'
  switch (code) {
    case 'UPSTREAM_TIMEOUT':
      return 'It did not answer within ten seconds.'
    case 'UPSTREAM_UNREACHABLE':
      return 'It cannot be reached.'
    default:
      return 'Its answer was broken off or is not valid.'
  }
}
