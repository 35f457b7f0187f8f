import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { setTimeout as elapsed } from 'node:timers/promises'
import { beside } from '../support/beside.ts'
import { load } from '../support/load-client.ts'
import type { LoadTarget } from '../support/load-client.ts'
import type { ManagementTally, ManagementTarget } from '../support/management-load.ts'
import { answers, startGateway, startSimulator } from '../support/programs.ts'
import type { Gateway } from '../support/programs.ts'
import { median, percentile } from '../support/statistics.ts'
import { steadyLoad } from '../support/steady-load.ts'

const { values } = parseArgs({
  options: {
    /** Seconds of each load. */
    seconds: { type: 'string', default: '8' },
    rounds: { type: 'string', default: '5' },
    /** Seconds of load before the measurement; it fills the log that searches and exports read. */
    fill: { type: 'string', default: '20' },
    rate: { type: 'string', default: '300' },
  },
})
const seconds = Number(values.seconds)

/** The promised bounds. */
const MAX_P99_RATIO = 1.1
const MAX_CHANGE_MS = 1_000

const CONNECTIONS = 8
const CHANGES = 10
const POLL_MS = 5
const BODY = JSON.stringify({
  model: 'sim-gpt',
  messages: [
    { role: 'user', content: `${'The quick brown fox jumps over the lazy dog. '.repeat(10)}[[sim {"tokens":40}]]` },
  ],
})

/**
 * Measures AI requests at a steady rate, alone and beside a saturated management plane, and the time until a change takes
 * effect.
 */
async function main(): Promise<boolean> {
  console.log(`node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}`)
  const simulator = await startSimulator()
  const gateway = await startGateway({ upstreamBaseUrl: simulator.baseUrl })
  try {
    const key = await createKey(gateway, 'bench of management')
    const target = { baseUrl: gateway.baseUrl, headers: { authorization: `Bearer ${key.key}` } }
    await answers(`${gateway.baseUrl}/models`, target.headers)
    const filled = await load(target, { body: BODY, connections: 32, seconds: Number(values.fill), spreadMs: 0 })
    await gateway.settled(filled.lastRequestId)
    console.log(`${filled.requests} rows in the log`)
    return await compare(gateway, target)
  } finally {
    await gateway.stop()
    await simulator.stop()
  }
}

async function compare(gateway: Gateway, target: LoadTarget): Promise<boolean> {
  const steady = (): Promise<number[]> => p99Of(target)
  await steady()
  const alone: number[] = []
  const saturated: number[] = []
  const admins: ManagementTarget = { url: gateway.url, admin: gateway.admin }
  for (let round = 0; round < Number(values.rounds); round++) {
    alone.push(...(await steady()))
    const { result, news } = await beside<number[], ManagementTally>('management-load', admins, steady)
    saturated.push(...result)
    console.log(
      `round ${round + 1}: alone ${rounded(alone.at(-1))} ms, saturated ${rounded(saturated.at(-1))} ms; ${told(news)}`,
    )
  }
  const ratio = median(saturated) / median(alone)
  console.log(
    `p99, median of rounds: alone ${rounded(median(alone))} ms, saturated ${rounded(median(saturated))} ms: ${rounded(ratio)} ×`,
  )
  const quietMs = await changes(gateway)
  const { result: busyMs } = await beside<number[], ManagementTally>('management-load', admins, () => changes(gateway))
  console.log(
    `a key turned off is refused after ${spread(quietMs)}; beside a saturated management plane ${spread(busyMs)}, its own answer included`,
  )
  const problems = [
    ...(ratio > MAX_P99_RATIO ? [`p99 ${rounded(ratio)} × that without`] : []),
    ...(Math.max(...quietMs) > MAX_CHANGE_MS ? [`a change took ${rounded(Math.max(...quietMs))} ms`] : []),
  ]
  for (const problem of problems) console.log(`NOT HELD: ${problem}`)
  if (problems.length === 0) console.log(`held: p99 at most ${MAX_P99_RATIO} ×, changes within ${MAX_CHANGE_MS} ms`)
  return problems.length === 0
}

async function p99Of(target: LoadTarget): Promise<number[]> {
  const result = await steadyLoad(target, { body: BODY, connections: CONNECTIONS, seconds, rate: Number(values.rate) })
  if (result.errors > 0) throw new Error(`${result.errors} requests failed`)
  return [percentile(result.totalMs, 0.99)]
}

/** Milliseconds from the answer that turns a key off until the front refuses the key, for several keys in turn. */
async function changes(gateway: Gateway): Promise<number[]> {
  const took: number[] = []
  for (let n = 0; n < CHANGES; n++) {
    const { id, key } = await createKey(gateway, `change ${n}`)
    const headers = { authorization: `Bearer ${key}` }
    await answers(`${gateway.baseUrl}/models`, headers)
    await manage(gateway, 'PUT', `/api/keys/${id}/toggle`, { enabled: false })
    const startedMs = performance.now()
    while ((await fetch(`${gateway.baseUrl}/models`, { headers })).status === 200) await elapsed(POLL_MS)
    took.push(performance.now() - startedMs)
  }
  return took
}

function createKey(gateway: Gateway, name: string): Promise<{ readonly id: string; readonly key: string }> {
  return manage(gateway, 'POST', '/api/keys', { name }) as Promise<{ id: string; key: string }>
}

async function manage({ url, admin }: Gateway, method: string, path: string, body: object): Promise<unknown> {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${admin.token}` },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return answer.json()
}

function told(tally: ManagementTally): string {
  return Object.entries(tally)
    .map(([what, { answered, failed }]) => `${what} ${answered}${failed > 0 ? ` (${failed} refused)` : ''}`)
    .join(', ')
}

function spread(ms: readonly number[]): string {
  return `${rounded(median(ms))} ms (median; longest ${rounded(Math.max(...ms))} ms)`
}

function rounded(value: number | undefined): number {
  return Math.round((value ?? NaN) * 100) / 100
}

process.exitCode = (await main()) ? 0 : 1
