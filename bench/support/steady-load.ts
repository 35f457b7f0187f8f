import autocannon from 'autocannon'
import type { LoadOptions, LoadResult, LoadTarget } from './load-client.ts'

export interface SteadyOptions extends Pick<LoadOptions, 'body' | 'connections' | 'seconds'> {
  /** Requests per second over all connections. */
  readonly rate: number
}

/** Loads a target at a fixed rate below its capacity, to measure latencies. */
export async function steadyLoad({ baseUrl, headers }: LoadTarget, options: SteadyOptions): Promise<LoadResult> {
  const totalMs: number[] = []
  const result = await new Promise<autocannon.Result>((resolve, reject) => {
    const running = autocannon(
      {
        url: `${baseUrl}/chat/completions`,
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: options.body,
        connections: options.connections,
        duration: options.seconds,
        overallRate: options.rate,
      },
      (error: unknown, done) => {
        if (error instanceof Error) reject(error)
        else resolve(done)
      },
    )
    // The histogram of autocannon counts only whole milliseconds.
    running.on('response', (_client, _status, _bytes, responseMs) => totalMs.push(responseMs))
  })
  const { non2xx, errors, duration } = result
  return {
    requests: totalMs.length,
    events: 0,
    errors: non2xx + errors,
    seconds: duration,
    firstByteMs: [],
    totalMs,
    lastRequestId: '',
  }
}
