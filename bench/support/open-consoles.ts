import { setMaxListeners } from 'node:events'
import { eventsOf, SluiceClient } from '../../src/client/index.ts'

/*
 * Open consoles: each reads the live log of the platform as a browser does. It is a separate process, so that its own work does not count as an
 * effect of the gateway.
 */

export interface ConsolesTarget {
  readonly url: string
  /** Of admins of the platform. */
  readonly tokens: readonly string[]
  readonly consoles: number
}

export interface ConsolesTally {
  readonly updates: number
  readonly rows: number
  readonly failed: number
}

process.once('message', (target) => {
  const stop = new AbortController()
  process.once('message', () => {
    stop.abort()
  })
  watch(target as ConsolesTarget, stop.signal).then(
    (tally) => process.send?.(tally, () => process.disconnect()),
    (cause: unknown) => {
      console.error(cause)
      process.exit(1)
    },
  )
})

async function watch({ url, tokens, consoles }: ConsolesTarget, stop: AbortSignal): Promise<ConsolesTally> {
  const tally = { updates: 0, rows: 0, failed: 0 }
  setMaxListeners(consoles, stop)
  await Promise.all(
    Array.from({ length: consoles }, async (_, at) => {
      const client = new SluiceClient({ baseUrl: url, maxRetries: 0 })
      client.token = tokens[at % tokens.length] ?? ''
      try {
        const stream = await client.call('adminLive', {}, { signal: stop })
        for await (const { name, data } of eventsOf(stream)) {
          tally.updates += 1
          if (name === 'requests') tally.rows += (JSON.parse(data) as { data: unknown[] }).data.length
        }
      } catch {
        if (!stop.aborted) tally.failed += 1
      }
    }),
  )
  return tally
}
