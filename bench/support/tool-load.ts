import { setPriority } from 'node:os'
import { percentile } from './statistics.ts'
import { ToolSession } from './tool-session.ts'

/*
 * The load of sessions of the tool server. Each calls the next tool as soon as it has an answer. It is a separate process of lower
 * priority, as that of the admins.
 */

export interface ToolSessionsTarget {
  readonly url: string
  /** Tokens of users, who share the sessions evenly. */
  readonly tokens: readonly string[]
  readonly sessions: number
}

export interface ToolSessionsTally {
  readonly answered: number
  readonly failed: number
  /** The times of calls. */
  readonly ms: { readonly p50: number; readonly p99: number }
}

const NICENESS = 10
const CALLS: ReadonlyArray<readonly [tool: string, input: object]> = [
  ['list_models', {}],
  ['who_am_i', {}],
  ['list_keys', { limit: 20 }],
  ['usage_statistics', { period: '24h' }],
]

setPriority(NICENESS)

process.once('message', (target) => {
  const stop = new AbortController()
  process.once('message', () => {
    stop.abort()
  })
  callOn(target as ToolSessionsTarget, stop.signal).then(
    (tally) => process.send?.(tally, () => process.disconnect()),
    (cause: unknown) => {
      console.error(cause)
      process.exit(1)
    },
  )
})

async function callOn({ url, tokens, sessions }: ToolSessionsTarget, stop: AbortSignal): Promise<ToolSessionsTally> {
  const counts = { answered: 0, failed: 0 }
  const tookMs: number[] = []
  const run = async (at: number): Promise<void> => {
    const session = await ToolSession.begin(url, tokens[at % tokens.length] ?? '')
    for (let call = at; !stop.aborted; call++) {
      const [tool, input] = CALLS[call % CALLS.length] ?? ['', {}]
      const startedMs = performance.now()
      try {
        counts[(await session.call(tool, input, stop)) ? 'answered' : 'failed']++
        tookMs.push(performance.now() - startedMs)
      } catch (cause) {
        if (!stop.aborted) throw cause
      }
    }
  }
  await Promise.all(Array.from({ length: sessions }, (_, at) => run(at)))
  return { ...counts, ms: { p50: percentile(tookMs, 0.5), p99: percentile(tookMs, 0.99) } }
}
