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
  /** Milliseconds of each answer, in the order of the answers. */
  readonly totalMs: readonly number[]
  /** Answers with another status than 2xx, and requests without an answer. */
  readonly failures: number
  /** Number of answers by status. */
  readonly statuses: Readonly<Record<string, number>>
  readonly seconds: number
}

const TIMEOUT_SECONDS = 60

/** Loads an endpoint whose answers are not streamed. */
export async function loadBuffered(load: BufferedLoad): Promise<BufferedResult> {
  const { default: start } = await import('autocannon')
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
    running.on('response', (_client, _status, _bytes, responseMs) => totalMs.push(responseMs))
  })
  const { non2xx, errors, duration, statusCodeStats } = result
  const statuses = Object.entries(statusCodeStats ?? {}).map(([status, { count = 0 }]) => [status, count] as const)
  return { totalMs, failures: non2xx + errors, statuses: Object.fromEntries(statuses), seconds: duration }
}
