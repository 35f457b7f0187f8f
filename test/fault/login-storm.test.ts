import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { dose } from '../support/dose.ts'
import { eventually } from '../support/eventually.ts'
import type { TestGateway } from '../support/gateway.ts'
import { startGateway } from '../support/gateway.ts'
import { ManagementClient } from '../support/management-client.ts'
import { peakResidentBytes, residentBytes } from '../support/process-memory.ts'

/** `npm run test:logins` for more. */
const LOGINS = dose('SLUICE_TEST_LOGINS', { short: 20, long: 500 })
const PASSWORD = 'correct horse battery'
const PHONE = '+12025559001'
const GUESSED = '+12025559002'
const CALM_REQUESTS = 300
const PROBE = new URL('../support/ai-probe.mjs', import.meta.url)
/** Argon2 takes what it is set to take, two times at once; the rest is what answers and their queue hold. */
const MOST_BYTES = 256 * 1024 * 1024
const TIMEOUT_MS = 240_000 + LOGINS * 50

let gateway: TestGateway
let admin: ManagementClient

beforeAll(async () => {
  // With the simulator in a process of its own.
  gateway = await startGateway()
  admin = await ManagementClient.ofAdmin(gateway)
  for (const phone of [PHONE, GUESSED]) {
    await admin.expect('adminCreateUser', 201, { body: { phone, name: 'Ada', password: PASSWORD } })
  }
})

afterAll(async () => {
  await gateway.stop()
})

/** Asks the gateway one thing after the other, from a thread of its own. */
class Probe {
  readonly #worker: Worker
  readonly #took: Promise<number[]>

  constructor(most = Number.MAX_SAFE_INTEGER) {
    const { url, apiKey } = gateway
    this.#worker = new Worker(PROBE, { workerData: { url, apiKey, most } })
    this.#took = once(this.#worker, 'message').then(([took]) => took as number[])
    // Looked at when it is asked for.
    this.#took.catch(() => undefined)
  }

  /** Milliseconds of all answers, once it has made as many as it was to. */
  took(): Promise<number[]> {
    return this.#took
  }

  stop(): Promise<number[]> {
    this.#worker.postMessage('stop')
    return this.#took
  }
}

function p99(took: readonly number[]): string {
  const sorted = [...took].sort((a, b) => a - b)
  return `${Math.round(sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0)} ms`
}

/** A third each: good ones, guesses at one phone, phones of nobody. */
async function login(index: number): Promise<{ status: number; retryAfter: string | null; code: unknown }> {
  const phone = [PHONE, GUESSED, `+1202556${String(1000 + (index % 9000))}`][index % 3]
  const password = index % 3 === 0 ? PASSWORD : 'something else'
  const answer = await admin.call('login', { body: { phone, password }, token: null })
  const code = answer.status === 200 ? null : (answer.json['error'] as { code: unknown }).code
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), code }
}

it('answers every log-in of a storm, in bounded memory, and goes on serving', { timeout: TIMEOUT_MS }, async () => {
  const calm = await new Probe(CALM_REQUESTS).took()
  const control = gateway.children().find(({ kind }) => kind === 'control')
  if (control === undefined) throw new Error('no control process')
  const before = residentBytes(control.pid)

  const probe = new Probe()
  const answers = await Promise.all(Array.from({ length: LOGINS }, (_, index) => login(index)))
  const stormy = await probe.stop()

  const statuses = new Map<number, number>()
  for (const { status, retryAfter, code } of answers) {
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    expect([200, 401, 429], String(code)).toContain(status)
    if (status !== 429) continue
    expect(code).toBe('LOGIN_THROTTLED')
    expect(Number(retryAfter)).toBeGreaterThanOrEqual(1)
  }
  const grown = peakResidentBytes(control.pid) - before
  console.log(
    `${LOGINS} log-ins: ${[...statuses].map(([status, count]) => `${status} × ${count}`).join(', ')}; AI requests: p99 ${p99(calm)} before, ` +
      `${p99(stormy)} meanwhile (${stormy.length}); the control process grew by ${grown >> 20} MiB`,
  )
  expect(stormy.length).toBeGreaterThan(0)
  expect(answers).toHaveLength(LOGINS)
  expect(statuses.get(429)).toBeGreaterThan(0)
  expect(grown).toBeLessThan(MOST_BYTES)

  // Those who are logged in were not locked out, and the plane is itself again.
  await eventually(async () => {
    await admin.expect('me', 200)
  })
})
