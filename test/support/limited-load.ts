import { setMaxListeners } from 'node:events'
import { Agent, request } from 'undici'

export interface LimitedLoadOptions {
  readonly url: string
  readonly apiKey: string
  readonly clients: number
  /** Longest wait after a refusal, whatever its `Retry-After`, so that clients do not miss the next window. */
  readonly maxWaitMs: number
  readonly body: Record<string, unknown>
}

/** The results of a limited load: `admitted` has the ids of admitted requests. */
export interface LimitedOutcome {
  readonly admitted: string[]
  /** Tokens that the answers to admitted requests report. */
  usedTokens: number
  refused: number
  /** Answers that are neither a success nor a refusal. */
  readonly others: string[]
}

/** Starts clients that send requests until they are stopped. After a refusal each waits for `Retry-After`, at most `maxWaitMs`. */
export function startLimitedLoad(options: LimitedLoadOptions): {
  /** The results so far. */
  readonly outcome: LimitedOutcome
  readonly stop: () => Promise<LimitedOutcome>
} {
  const dispatcher = new Agent({ connections: options.clients, pipelining: 1 })
  const stopping = new AbortController()
  setMaxListeners(options.clients, stopping.signal)
  const outcome: LimitedOutcome = { admitted: [], usedTokens: 0, refused: 0, others: [] }
  const body = JSON.stringify(options.body)

  const client = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const answer = await request(`${options.url}/v1/chat/completions`, {
        dispatcher,
        method: 'POST',
        headers: { authorization: `Bearer ${options.apiKey}`, 'content-type': 'application/json' },
        body,
      })
      const text = await answer.body.text()
      if (answer.statusCode === 200) {
        outcome.admitted.push(String(answer.headers['x-request-id']))
        outcome.usedTokens += (JSON.parse(text) as { usage: { total_tokens: number } }).usage.total_tokens
      } else if (answer.statusCode === 429) {
        outcome.refused += 1
        await pause(Math.min(options.maxWaitMs, Number(answer.headers['retry-after']) * 1000), stopping.signal)
      } else outcome.others.push(`${answer.statusCode} ${text}`)
    }
  }
  const clients = Array.from({ length: options.clients }, client)
  return {
    outcome,
    stop: async () => {
      stopping.abort()
      await Promise.all(clients)
      await dispatcher.close()
      return outcome
    },
  }
}

/** Waits; ends at once when the load is stopped. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
  })
}
