import { loadBuffered } from '../../src/cli/bench/buffered-load.ts'
import type { LoadOptions, LoadResult, LoadTarget } from './load-client.ts'

export interface SteadyOptions extends Pick<LoadOptions, 'body' | 'connections' | 'seconds'> {
  /** Requests per second over all connections. */
  readonly rate: number
}

/** Loads a target at a fixed rate below its capacity, to measure latencies. */
export async function steadyLoad({ baseUrl, headers }: LoadTarget, options: SteadyOptions): Promise<LoadResult> {
  const { body, connections, seconds, rate } = options
  const url = `${baseUrl}/chat/completions`
  const result = await loadBuffered({ url, headers, body, connections, rate, dose: { seconds } })
  return {
    requests: result.totalMs.length,
    events: 0,
    errors: result.failures,
    seconds: result.seconds,
    firstByteMs: [],
    totalMs: result.totalMs,
    lastRequestId: '',
  }
}
