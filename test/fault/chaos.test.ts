import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { generateApiKey } from '../../src/shared/core/api-key.ts'
import { ERROR_CODES } from '../../src/shared/core/errors.ts'
import type { RequestRecord } from '../../src/simulator/ledger.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { call, chat } from '../support/ai-calls.ts'
import { ChaosClient, MODELS } from '../support/chaos-client.ts'
import type { ChaosFate } from '../support/chaos-client.ts'
import { chaosPlan } from '../support/chaos-plan.ts'
import { dose } from '../support/dose.ts'
import { eventually } from '../support/eventually.ts'
import type { TestGateway } from '../support/gateway.ts'
import { startGateway } from '../support/gateway.ts'
import { mostAtATime } from '../support/most-at-a-time.ts'
import { residentBytes } from '../support/process-memory.ts'
import { parsePrometheusText, sumOf } from '../support/prometheus-text.ts'
import { copyMadeDatabase } from '../support/program.ts'
import { inLanes } from '../support/raw-client.ts'
import { TEST_SEED } from '../support/seed.ts'
import { SeededRandom } from '../support/seeded-random.ts'
import { readStoredLog } from '../support/stored-log.ts'
import type { StoredLog } from '../support/stored-log.ts'

/** 100 000 is the promise; a run of every day takes a tenth of it. */
const REQUESTS = dose('SLUICE_TEST_CHAOS', { short: 400, long: 10_000 })
const SEED = TEST_SEED
const WARM_UP = 300
const LANES = 64
const FRONTS = 2
const KEYS = 10
const SLOTS = 4
const LIMITED_PLACES = 12
const DESCRIPTORS_TOLERANCE = 5
const MEMORY_TOLERANCE_BYTES = 200 * 1024 * 1024
/** From a connection's end on one side to the other side's noticing, when neither is held up. */
const HANG_UP_MS = 50
const SETTLING = { timeoutMs: 90_000, everyMs: 500 }
const TIMEOUT_MS = 300_000 + REQUESTS * 20

/** Refusals to spare a machine at its limits, or because nothing can be recorded: they have no row. */
const UNRECORDED: ReadonlySet<string> = new Set([
  ERROR_CODES.GATEWAY_OVERLOADED.text,
  ERROR_CODES.JOURNAL_UNAVAILABLE.text,
])

const limitedKey = generateApiKey()
let simulator: Simulator
let gateway: TestGateway
let dataDir: string

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'sluice-chaos-'))
  copyMadeDatabase(dataDir)
  simulator = await startSimulator()
  gateway = await startGateway({
    dataDir,
    fronts: FRONTS,
    keys: [{ name: 'limited', key: limitedKey, max_concurrency: LIMITED_PLACES }],
    upstreams: (['openai-chat', 'anthropic-messages'] as const).map((dialect) => ({
      id: dialect,
      dialect,
      baseUrl: `${simulator.origin}/v1`,
      models: [MODELS[dialect]],
      keys: Array.from({ length: KEYS }, (_, index) => ({
        credential: `upstream-credential-${dialect}-${index}`,
        max_concurrency: SLOTS,
      })),
      more: { timeouts: { connect_ms: 2_000, first_byte_ms: 1_500, idle_ms: 1_500, total_ms: 5_000 } },
    })),
  })
})

afterAll(async () => {
  await gateway.end('SIGTERM')
  await simulator.close()
  rmSync(dataDir, { recursive: true, force: true })
})

it(
  'gives back every slot, place, socket and byte after chaos, and has one row of each request',
  async () => {
    console.log(`chaos: ${REQUESTS} requests, SLUICE_TEST_SEED=${SEED}`)
    // Files are opened and pools filled when they are first used.
    await unleash('warm', WARM_UP, new SeededRandom(WARM_UP))
    await eventually(expectAllBooked, SETTLING)
    const before = new Map(
      processes().map(({ pid }) => [pid, { descriptors: ownDescriptors(pid), memory: residentBytes(pid) }]),
    )

    const fates = await unleash('chaos', REQUESTS, new SeededRandom(SEED))
    console.log(tally(fates))
    expect(fates.filter(({ outcome }) => outcome === 'broken').slice(0, 5)).toEqual([])
    const served = fates.filter(({ outcome, status }) => outcome === 'answered' && status === 200)
    expect(served.length).toBeGreaterThan(fates.length / 3)

    await eventually(() => {
      expect(simulator.stats().inFlight).toBe(0)
    }, SETTLING)
    expectSlotsKept(new Set(fates.filter(({ outcome }) => outcome === 'left').map(({ id }) => id)))
    await eventually(expectNothingHeld, SETTLING)
    await eventually(expectEveryPlaceFree, SETTLING)
    const settled = await eventually(expectAllBooked, SETTLING)
    expect(settled).toBe(0)

    // What is kept open to the upstream may be kept: it goes with the upstream.
    await simulator.close()
    await eventually(() => {
      for (const { pid, kind } of processes()) {
        const was = before.get(pid)
        expect(was, `a ${kind} of the beginning`).toBeDefined()
        expect(descriptors(pid), `descriptors of a ${kind}`).toBeLessThanOrEqual(
          (was?.descriptors ?? 0) + DESCRIPTORS_TOLERANCE,
        )
      }
    }, SETTLING)
    for (const { pid, kind } of processes()) {
      const growth = residentBytes(pid) - (before.get(pid)?.memory ?? 0)
      expect(growth, `memory of a ${kind}`).toBeLessThan(MEMORY_TOLERANCE_BYTES)
    }

    expect(await gateway.end('SIGTERM')).toBe(0)
    expectOneRowEach(fates, await readStoredLog(dataDir, gateway.databaseUrl))
  },
  TIMEOUT_MS,
)

async function unleash(name: string, requests: number, random: SeededRandom): Promise<ChaosFate[]> {
  const plans = Array.from({ length: requests }, (_, n) => chaosPlan(n, random))
  const target = { port: gateway.port, apiKey: gateway.apiKey, limitedKey, name }
  const clients = Array.from({ length: LANES }, () => new ChaosClient(target))
  const fates: ChaosFate[] = []
  await inLanes(plans, LANES, async (plan, lane) => {
    const fate = await clients[lane]?.run(plan)
    if (fate !== undefined) fates.push(fate)
  })
  for (const client of clients) client.close()
  return fates
}

function expectSlotsKept(leavers: ReadonlySet<string>): void {
  const byCredential = new Map<string, RequestRecord[]>()
  for (const record of simulator.ledger.records()) {
    byCredential.set(record.credential, [...(byCredential.get(record.credential) ?? []), record])
  }
  const latenessMs = simulator.stats().loopDelayMs.max + HANG_UP_MS
  for (const [credential, records] of byCredential) {
    const crowd = mostAtATime(records, latenessMs, leavers)
    expect(crowd.length, `requests at a time with ${credential}: ${JSON.stringify(crowd)}`).toBeLessThanOrEqual(SLOTS)
  }
}

async function expectNothingHeld(): Promise<void> {
  const families = await scrape()
  const held = Object.fromEntries(
    ['sluice_requests_in_flight', 'sluice_upstream_slots_used', 'sluice_queue_length', 'sluice_worker_tasks'].map(
      (name) => [name, sumOf(families, name)],
    ),
  )
  expect(
    Object.values(held).every((value) => value === 0),
    JSON.stringify(held),
  ).toBe(true)
}

/** All places of the limited key at the same time: one that leaked would be missed. */
async function expectEveryPlaceFree(): Promise<void> {
  const messages = [{ role: 'user', content: '[[sim {"ttftMs":500}]]' }]
  const headers = { authorization: `Bearer ${limitedKey}` }
  const answers = await Promise.all(Array.from({ length: LIMITED_PLACES }, () => chat(gateway, { messages }, headers)))
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
}

async function expectAllBooked(): Promise<number> {
  const unsettled = sumOf(await scrape(), 'sluice_journal_unsettled_bytes')
  expect(unsettled).toBe(0)
  return unsettled
}

async function scrape(): Promise<ReturnType<typeof parsePrometheusText>> {
  const headers = { authorization: `Bearer ${await gateway.adminToken()}` }
  return parsePrometheusText((await call(gateway, { path: '/metrics', headers })).text)
}

function expectOneRowEach(fates: readonly ChaosFate[], log: StoredLog): void {
  const counts = new Map<string, number>()
  for (const { client_request_id: id } of log.rows) if (id !== null) counts.set(id, (counts.get(id) ?? 0) + 1)
  const produced = new Set(simulator.ledger.records().map(({ user }) => user))
  const rowless = fates.filter(
    ({ id, outcome, error }) =>
      !counts.has(id) && (produced.has(id) || (outcome === 'answered' && !UNRECORDED.has(error ?? ''))),
  )
  expect(rowless.slice(0, 5), `${rowless.length} requests without a row: ${tally(rowless)}`).toEqual([])
  expect([...counts].filter(([, count]) => count !== 1)).toEqual([])
  const byId = new Map(log.rows.map((row) => [row.id, row]))
  const different = fates.filter(
    ({ outcome, requestId, status }) => outcome === 'answered' && (byId.get(requestId)?.status ?? status) !== status,
  )
  expect(different.slice(0, 5), `${different.length} rows with another status`).toEqual([])
  expect({ open: log.open, deadLetters: log.deadLetters }).toEqual({ open: 0, deadLetters: 0 })
  expect(log.rollupSums).toEqual(log.rowSums)
}

function processes(): Array<{ kind: string; pid: number }> {
  return gateway.children().filter(({ kind }) => kind !== 'simulator')
}

/** Without the files of the embedded database: it keeps a file open for each of its tables that was used, at any time. */
function descriptors(pid: number): number {
  return openFiles(pid).length
}

/** The same, without connections to the upstream. */
function ownDescriptors(pid: number): number {
  const port = simulator.port.toString(16).toUpperCase().padStart(4, '0')
  const upstream = new Set(
    readFileSync(`/proc/${pid}/net/tcp`, 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter((fields) => fields[2]?.endsWith(`:${port}`))
      .map((fields) => `socket:[${fields[9]}]`),
  )
  return openFiles(pid).filter((target) => !upstream.has(target)).length
}

function openFiles(pid: number): string[] {
  const targets = readdirSync(`/proc/${pid}/fd`).map((fd) => targetOf(`/proc/${pid}/fd/${fd}`))
  return targets.filter((target) => !target.startsWith(join(dataDir, 'database')))
}

/** Empty when it has just been closed. */
function targetOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

function tally(fates: readonly ChaosFate[]): string {
  const counts = new Map<string, number>()
  for (const { outcome, status, error } of fates) {
    const name = outcome === 'answered' ? `${status} ${error ?? ''}`.trim() : outcome
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return `chaos: ${[...counts].map(([name, count]) => `${count} × ${name}`).join(', ')}`
}
