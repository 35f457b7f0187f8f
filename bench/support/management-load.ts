import { setPriority } from 'node:os'
import type { Gateway } from '../../src/cli/bench/programs.ts'

/*
 * The load of 24 admins: log searches, statistics, exports of the whole log and log-ins. Each asks again as soon as it has an answer.
 * It is a separate process of lower priority than the measured and the measuring processes, so that its own CPU use does not count
 * as an effect of the gateway.
 */

export type ManagementTarget = Pick<Gateway, 'url' | 'admin'>

/** Number of answers of each kind of request, and of those that were errors. */
export type ManagementTally = Readonly<Record<string, { readonly answered: number; readonly failed: number }>>

const NICENESS = 10
const DAY_MS = 86_400_000

setPriority(NICENESS)

process.once('message', (target) => {
  const stop = new AbortController()
  process.once('message', () => {
    stop.abort()
  })
  saturate(target as ManagementTarget, stop.signal).then(
    (tally) => process.send?.(tally, () => process.disconnect()),
    (cause: unknown) => {
      console.error(cause)
      process.exit(1)
    },
  )
})

async function saturate({ url, admin }: ManagementTarget, stop: AbortSignal): Promise<ManagementTally> {
  const headers = { authorization: `Bearer ${admin.token}` }
  const get = (path: string) => () => fetch(`${url}${path}`, { headers, signal: stop })
  const from = new Date(Date.now() - DAY_MS).toISOString()
  const lanes: ReadonlyArray<readonly [what: string, lanes: number, call: () => Promise<Response>]> = [
    // No request has this user agent, so the search reads the whole log.
    ['log search', 6, get(`/v1/admin/logs?user_agent=nothing%20like%20it&from=${from}`)],
    ['log page', 6, get('/v1/admin/logs?model=sim-gpt&limit=100')],
    ['statistics', 4, get('/v1/admin/stats/usage?period=30d&group_by=key')],
    ['export', 2, get(`/api/logs/export?format=ndjson&from=${from}`)],
    [
      'log-in',
      6,
      () =>
        fetch(`${url}/api/auth/login`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ phone: admin.phone, password: admin.password }),
          signal: stop,
        }),
    ],
  ]
  const tally: Record<string, { answered: number; failed: number }> = {}
  await Promise.all(
    lanes.flatMap(([what, count, call]) => {
      const counts = (tally[what] = { answered: 0, failed: 0 })
      return Array.from({ length: count }, () => askOn(call, counts, stop))
    }),
  )
  return tally
}

async function askOn(
  call: () => Promise<Response>,
  counts: { answered: number; failed: number },
  stop: AbortSignal,
): Promise<void> {
  while (!stop.aborted) {
    try {
      const answer = await call()
      await answer.body?.pipeTo(new WritableStream())
      counts[answer.ok ? 'answered' : 'failed']++
    } catch (cause) {
      if (!stop.aborted) throw cause
    }
  }
}
