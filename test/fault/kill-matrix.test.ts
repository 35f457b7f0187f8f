import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, inject } from 'vitest'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { dose } from '../support/dose.ts'
import { eventually } from '../support/eventually.ts'
import type { TestGateway } from '../support/gateway.ts'
import { startGateway } from '../support/gateway.ts'
import { expectExplained, expectOneRowEach, expectSettled, tally } from '../support/kill-evidence.ts'
import { Load } from '../support/load.ts'
import type { Kill } from '../support/nemesis.ts'
import { awaitSuicide, connectionsOf, recovered, seededRandom } from '../support/nemesis.ts'
import { copyMadeDatabase } from '../support/program.ts'
import { TEST_SEED } from '../support/seed.ts'
import { readStoredLog } from '../support/stored-log.ts'

/** Where a record can be lost or doubled: who is there, and what of its work is done. */
const FAIL_POINTS = {
  'begin unwritten': 'front',
  'begin torn': 'front',
  'begin written': 'front',
  'end unwritten': 'front',
  'end torn': 'front',
  'end written': 'front',
  'segment created': 'front',
  'segment begun': 'front',
  'partition made': 'control',
  'offset moved': 'control',
  uncommitted: 'control',
  committed: 'control',
  'segment deleted': 'control',
} as const

type FailPoint = keyof typeof FAIL_POINTS

const SEED = TEST_SEED
const KILLS_PER_POINT = dose('SLUICE_TEST_KILLS_PER_POINT', { short: 1, long: 2 })
/** The seed says which. */
const POINTS = dose('SLUICE_TEST_KILL_POINTS', { short: 2, long: Object.keys(FAIL_POINTS).length })
const FRONTS = 2
const CLIENTS = 10
/** So often at most is a point passed before the end. */
const MAX_SKIPPED = 20
const TIMEOUT_MS = 3_600_000

const dataDir = mkdtempSync(join(tmpdir(), 'sluice-matrix-'))
const orders = join(dataDir, 'fail-point')
const died = `${orders}.died`
let simulator: Simulator
let gateway: TestGateway

beforeAll(async () => {
  copyMadeDatabase(dataDir)
  simulator = await startSimulator()
  gateway = await startGateway({
    fronts: FRONTS,
    dataDir,
    // The smallest segments there can be: they are to be begun and deleted all the time.
    config: { journal: { segment_max_bytes: 65_536 } },
    env: {
      NODE_OPTIONS: `--import ${new URL('../support/fail-points.mjs', import.meta.url).href}`,
      SLUICE_FAIL_POINTS: orders,
      SLUICE_TEST_MODULES: inject('builtModules'),
    },
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
  })
})

afterAll(async () => {
  await gateway.end('SIGKILL')
  await simulator.close()
  rmSync(dataDir, { recursive: true, force: true })
})

it(
  'keeps one row per request, wherever between a request and its row a process ends',
  async () => {
    console.log(`seed ${SEED}, ${KILLS_PER_POINT} kills at each of ${POINTS} points`)
    const random = seededRandom(SEED)
    const load = new Load({
      url: gateway.url,
      apiKey: gateway.apiKey,
      clients: CLIENTS,
      name: `matrix-${SEED}`,
      message: (n) => `request ${n} [[sim ${JSON.stringify(behaviourOf(n))}]]`,
      isStream: (n) => n % 2 === 1,
    })
    const kills: Kill[] = []
    for (let round = 0; round < KILLS_PER_POINT; round++) {
      for (const point of shuffled(Object.keys(FAIL_POINTS) as FailPoint[], random).slice(0, POINTS)) {
        const goal = load.served + Math.floor(random() * 30)
        await eventually(() => expect(load.served).toBeGreaterThanOrEqual(goal), { timeoutMs: 60_000 })
        kills.push(await killAt(point, random, kills.length + 1))
        await recovered(gateway, FRONTS)
      }
    }
    const fates = await load.stop()
    expect(await gateway.end('SIGTERM')).toBe(0)

    const log = await readStoredLog(dataDir, gateway.databaseUrl)
    console.log(tally(kills, fates, log))
    expect(kills).toHaveLength(KILLS_PER_POINT * POINTS)
    expectExplained(fates, kills)
    expectOneRowEach(fates, log, simulator.ledger.records())
    expectSettled(log)
  },
  TIMEOUT_MS,
)

function behaviourOf(n: number): object {
  return n % 2 === 1 ? { tokens: 10, eventsPerSecond: 100 + (n % 7) * 50 } : { tokens: 20, ttftMs: 5 + (n % 5) * 20 }
}

async function killAt(point: FailPoint, random: () => number, number: number): Promise<Kill> {
  const kind = FAIL_POINTS[point]
  // A front that came back may have no clients: they keep their connections, and it would never come to the point.
  const [victim] = gateway
    .children()
    .filter((child) => child.kind === kind)
    .map(({ pid }) => ({ pid, connections: connectionsOf(pid, gateway.port).length }))
    .sort((a, b) => b.connections - a.connections)
  if (victim === undefined) throw new Error(`no ${kind} to end`)
  const skip = Math.floor(random() * (kind === 'front' && !point.startsWith('segment') ? MAX_SKIPPED : 2))
  rmSync(died, { force: true })
  const arm = (): void => {
    give(victim.pid, { point, skip: point === 'partition made' ? 0 : skip, share: random() })
    // A partition is made for each day, that of tomorrow ahead of time: the fronts go on to one behind it.
    if (point === 'partition made') for (const pid of frontPids()) give(pid, { shiftDays: number + 1 })
  }
  try {
    return await awaitSuicide(gateway, { kind, pid: victim.pid }, arm, () => Number(readFileSync(died, 'utf8')))
  } catch (cause) {
    throw new Error(`${kind} ${victim.pid} has not ended at "${point}":\n${gateway.output.slice(-2_000)}`, { cause })
  }
}

function give(pid: number, what: object): void {
  writeFileSync(`${orders}.${pid}`, JSON.stringify(what))
  process.kill(pid, 'SIGUSR2')
}

function frontPids(): number[] {
  return gateway.children().flatMap(({ kind, pid }) => (kind === 'front' ? [pid] : []))
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item)
}
