import type autocannon from 'autocannon'

export interface BufferedLoad {
  /** The whole URL of the endpoint. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly connections: number
  /** Seconds of load, or the number of requests. */
  readonly dose: { readonly seconds: number } | { readonly requests: number }
  /** Requests per second over all connections. Absent: each connection sends its next request when it has an answer. */
  readonly rate?: number
  /** Ends the load early. */
  readonly signal?: AbortSignal
}

export interface BufferedResult {
  /** Milliseconds of each answer with a status 2xx, in the order of the answers. */
  readonly totalMs: readonly number[]
  /** Answers with another status than 2xx, and requests without an answer. */
  readonly failures: number
  /** Number of answers by status. */
  readonly statuses: Readonly<Record<string, number>>
  /** To the last answer. autocannon's own figure is rounded up to whole seconds. */
  readonly seconds: number
}

const TIMEOUT_SECONDS = 60

/**
 * Loads an endpoint of this machine whose answers are not streamed. Not for others: autocannon checks no certificate, and takes a connection
 * that is closed in place of an answer for none of its business.
 */
export async function loadBuffered(load: BufferedLoad): Promise<BufferedResult> {
  const { default: start } = await import('autocannon')
  load.signal?.throwIfAborted()
  const totalMs: number[] = []
  const options: autocannon.Options = {
    url: load.url,
    method: 'POST',
    headers: { 'content-type': 'application/json', ...load.headers },
    body: load.body,
    connections: load.connections,
    timeout: TIMEOUT_SECONDS,
    ...('seconds' in load.dose ? { duration: load.dose.seconds } : { amount: load.dose.requests }),
    ...(load.rate === undefined ? {} : { overallRate: load.rate }),
  }
  const startMs = performance.now()
  let lastMs = startMs
  const result = await new Promise<autocannon.Result>((resolve, reject) => {
    const stop = (): void => {
      running.stop?.()
    }
    const running = start(options, (error: unknown, done) => {
      load.signal?.removeEventListener('abort', stop)
      if (error instanceof Error) reject(error)
      else resolve(done)
    })
    load.signal?.addEventListener('abort', stop)
    // The histogram of autocannon counts only whole milliseconds.
    running.on('response', (_client, status, _bytes, responseMs) => {
      lastMs = performance.now()
      if (status >= 200 && status < 300) totalMs.push(responseMs)
    })
  })
  const { non2xx, errors, statusCodeStats } = result
  const statuses = Object.entries(statusCodeStats ?? {}).map(([status, { count = 0 }]) => [status, count] as const)
  const seconds = (lastMs - startMs) / 1000
  return { totalMs, failures: non2xx + errors, statuses: Object.fromEntries(statuses), seconds }
}
