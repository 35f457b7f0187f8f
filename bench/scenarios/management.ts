import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { setTimeout as elapsed } from 'node:timers/promises'
import { memoryMbOfTree } from '../../src/cli/bench/process-use.ts'
import { beside } from '../support/beside.ts'
import { load } from '../support/load-client.ts'
import type { LoadTarget } from '../support/load-client.ts'
import type { ConsolesTally, ConsolesTarget } from '../support/open-consoles.ts'
import type { ManagementTally, ManagementTarget } from '../support/management-load.ts'
import { answers } from '../../src/cli/bench/programs.ts'
import { startGateway, startSimulator } from '../support/programs.ts'
import type { Gateway } from '../../src/cli/bench/programs.ts'
import { ToolSession } from '../support/tool-session.ts'
import type { ToolSessionsTally, ToolSessionsTarget } from '../support/tool-load.ts'
import { steadyLoad } from '../support/steady-load.ts'
import { median, percentile } from '../support/statistics.ts'

const { values } = parseArgs({
  options: {
    /** Seconds of each load. */
    seconds: { type: 'string', default: '8' },
    rounds: { type: 'string', default: '5' },
    /** Seconds of load before the measurement; it fills the log that searches and exports read. */
    fill: { type: 'string', default: '20' },
    rate: { type: 'string', default: '300' },
    /** Open consoles with a live log, beside which the requests are measured too. */
    consoles: { type: 'string', default: '0' },
  },
})
const seconds = Number(values.seconds)
const consoles = Number(values.consoles)

/** The promised bounds. */
const MAX_P99_RATIO = 1.1
const MAX_CHANGE_MS = 1_000

const CONNECTIONS = 8
/** The limit of the gateway for a user. */
const STREAMS_OF_A_USER = 4
const CHANGES = 10
/** Sessions that call tools without a pause, and users who have them: a user has at most 32 calls under way. */
const BUSY_SESSIONS = 200
const BUSY_USERS = 8
/** Sessions that do nothing. A user has at most 64. */
const IDLE_SESSIONS = 1_200
const SESSIONS_OF_USER = 60
const MAX_IDLE_KB = 100
const SETTLE_MS = 3_000
const POLL_MS = 5
const BODY = JSON.stringify({
  model: 'sim-gpt',
  messages: [
    { role: 'user', content: `${'The quick brown fox jumps over the lazy dog. '.repeat(10)}[[sim {"tokens":40}]]` },
  ],
})

/**
 * Measures AI requests at a steady rate, alone, beside a saturated management plane, and beside sessions that call tools; the time until
 * a change takes effect; and the memory of sessions that do nothing.
 */
async function main(): Promise<boolean> {
  console.log(`node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}`)
  const simulator = await startSimulator()
  const config = { mcp: { max_sessions: 10_000 } }
  const gateway = await startGateway({ upstreamBaseUrl: simulator.baseUrl, config })
  try {
    const key = await createKey(gateway, 'bench of management')
    const target = { baseUrl: gateway.baseUrl, headers: { authorization: `Bearer ${key.key}` } }
    await answers(`${gateway.baseUrl}/models`, target.headers)
    const filled = await load(target, { body: BODY, connections: 32, seconds: Number(values.fill), spreadMs: 0 })
    await gateway.settled(filled.lastRequestId)
    console.log(`${filled.requests} rows in the log`)
    const areHeld = [
      await compare(gateway, target),
      await compareWithTools(gateway, target),
      await idleSessions(gateway),
      consoles === 0 || (await compareConsoles(gateway, target)),
    ]
    return areHeld.every(Boolean)
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

/** AI requests alone, and beside sessions of the tool server that call tools without a pause. */
async function compareWithTools(gateway: Gateway, target: LoadTarget): Promise<boolean> {
  const tokens = await userTokens(gateway, BUSY_USERS)
  const sessions: ToolSessionsTarget = { url: gateway.url, tokens, sessions: BUSY_SESSIONS }
  const alone: number[] = []
  const busy: number[] = []
  for (let round = 0; round < Number(values.rounds); round++) {
    alone.push(...(await p99Of(target)))
    const { result, news } = await beside<number[], ToolSessionsTally>('tool-load', sessions, () => p99Of(target))
    busy.push(...result)
    const { answered, failed, ms } = news
    console.log(
      `round ${round + 1}: alone ${rounded(alone.at(-1))} ms, beside ${BUSY_SESSIONS} tool sessions ${rounded(busy.at(-1))} ms; ${answered} calls (${failed} failed), p50 ${rounded(ms.p50)} ms, p99 ${rounded(ms.p99)} ms`,
    )
    if (failed > 0) return false
  }
  const ratio = median(busy) / median(alone)
  const isHeld = ratio <= MAX_P99_RATIO
  console.log(`${isHeld ? 'held' : 'NOT HELD'}: p99 ${rounded(ratio)} × that without tool sessions`)
  return isHeld
}

/** The memory of tool sessions that do nothing, without and with an open stream, of all processes of the gateway. */
async function idleSessions(gateway: Gateway): Promise<boolean> {
  const users = IDLE_SESSIONS / SESSIONS_OF_USER
  const tokens = await userTokens(gateway, users + 1)
  const [warm = '', ...others] = tokens
  for (let n = 0; n < SESSIONS_OF_USER; n++) await openStream(await ToolSession.begin(gateway.url, warm))
  const sessions: ToolSession[] = []
  const beforeMb = await settledMb(gateway)
  for (const token of others) {
    for (let n = 0; n < SESSIONS_OF_USER; n++) sessions.push(await ToolSession.begin(gateway.url, token))
  }
  const begunMb = await settledMb(gateway)
  for (const session of sessions) await openStream(session)
  const openMb = await settledMb(gateway)
  const kbEach = (mb: number): number => Math.round(((mb - beforeMb) * 1024) / sessions.length)
  const isHeld = kbEach(begunMb) <= MAX_IDLE_KB
  console.log(
    `${isHeld ? 'held' : 'NOT HELD'}: ${sessions.length} idle tool sessions take ${kbEach(begunMb)} KB each, ${kbEach(openMb)} KB with an open stream`,
  )
  return isHeld
}

/** Measures the requests alone and beside open consoles, round by round. */
async function compareConsoles(gateway: Gateway, target: LoadTarget): Promise<boolean> {
  const admins = Math.ceil(consoles / STREAMS_OF_A_USER)
  const tokens = await userTokens(gateway, admins, 'admin')
  const watched: ConsolesTarget = { url: gateway.url, tokens, consoles }
  const alone: number[] = []
  const open: number[] = []
  for (let round = 0; round < Number(values.rounds); round++) {
    alone.push(...(await p99Of(target)))
    const { result, news } = await beside<number[], ConsolesTally>('open-consoles', watched, () => p99Of(target))
    open.push(...result)
    console.log(
      `round ${round + 1}: alone ${rounded(alone.at(-1))} ms, beside ${consoles} consoles ${rounded(open.at(-1))} ms; ` +
        `${news.updates} updates with ${news.rows} rows, ${news.failed} consoles refused`,
    )
  }
  const ratio = median(open) / median(alone)
  const isHeld = ratio <= MAX_P99_RATIO
  console.log(
    `p99, median of rounds: alone ${rounded(median(alone))} ms, beside ${consoles} consoles ${rounded(median(open))} ms: ${rounded(ratio)} ×: ` +
      (isHeld ? 'held' : 'NOT HELD'),
  )
  return isHeld
}

async function openStream(session: ToolSession): Promise<void> {
  const { status } = await session.stream()
  if (status !== 200) throw new Error(`a stream of a tool session: ${status}`)
}

async function settledMb({ pid }: Gateway): Promise<number> {
  await elapsed(SETTLE_MS)
  return memoryMbOfTree(pid)
}

let users = 0
/** Tokens of new users. */
async function userTokens(gateway: Gateway, count: number, role: 'user' | 'admin' = 'user'): Promise<string[]> {
  const tokens: string[] = []
  for (let n = 0; n < count; n++) {
    users += 1
    const login = { phone: `+1202555${String(1000 + users)}`, password: 'correct horse battery' }
    await manage(gateway, 'POST', '/v1/admin/users', { ...login, name: 'bench', role })
    const { token } = (await manage(gateway, 'POST', '/api/auth/login', login)) as { token: string }
    tokens.push(token)
  }
  return tokens
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
