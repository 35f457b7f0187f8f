import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { generateApiKey } from '../../src/shared/core/api-key.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { dose } from '../support/dose.ts'
import { eventually } from '../support/eventually.ts'
import type { TestGateway } from '../support/gateway.ts'
import { startGateway } from '../support/gateway.ts'
import { expectExplained, expectOneRowEach, expectSettled, tally } from '../support/kill-evidence.ts'
import { Load } from '../support/load.ts'
import type { Kill } from '../support/nemesis.ts'
import { killChild, recovered, seededRandom } from '../support/nemesis.ts'
import { copyMadeDatabase } from '../support/program.ts'
import { TEST_SEED } from '../support/seed.ts'
import { readStoredLog } from '../support/stored-log.ts'

const SEED = TEST_SEED
const KILLS = dose('SLUICE_TEST_KILLS', { short: 2, long: 20 })
/** Every so many kills the supervisor goes, and all is started again on the same data directory. */
const SUPERVISOR_EVERY = 12
const FRONTS = 2
const CLIENTS = 10
const TIMEOUT_MS = 1_800_000

let simulator: Simulator
let gateway: TestGateway
/** The same after a kill of the supervisor: a key that the configuration lacks is turned off. */
const apiKey = generateApiKey()
const dataDir = mkdtempSync(join(tmpdir(), 'sluice-kills-'))

beforeAll(async () => {
  copyMadeDatabase(dataDir)
  simulator = await startSimulator()
  gateway = await start()
})

afterAll(async () => {
  await gateway.end('SIGKILL')
  await simulator.close()
  rmSync(dataDir, { recursive: true, force: true })
})

it(
  'keeps one row per request and breaks nothing but the connections of killed fronts, over kills at random moments under load',
  async () => {
    console.log(`seed ${SEED}`)
    const random = seededRandom(SEED)
    const load = new Load({
      url: gateway.url,
      apiKey: gateway.apiKey,
      clients: CLIENTS,
      name: `kills-${SEED}`,
      message: (n) => `request ${n} ${JSON.stringify(behaviourOf(n)).replace(/^(.*)$/, '[[sim $1]]')}`,
      isStream: (n) => n % 2 === 1,
    })
    const kills: Kill[] = []
    while (kills.length < KILLS) {
      const goal = load.served + Math.floor(random() * 30)
      await eventually(() => expect(load.served).toBeGreaterThanOrEqual(goal), { timeoutMs: 60_000 })
      kills.push(await killOne(kills.length + 1, random))
      await recovered(gateway, FRONTS)
    }
    const fates = await load.stop()
    expect(await gateway.end('SIGTERM')).toBe(0)

    const log = await readStoredLog(dataDir, gateway.databaseUrl)
    console.log(tally(kills, fates, log))
    expectExplained(fates, kills)
    expectOneRowEach(fates, log, simulator.ledger.records())
    expectSettled(log)
  },
  TIMEOUT_MS,
)

/** Long enough to be killed in the middle of, at about a hundred requests a second. */
function behaviourOf(n: number): object {
  return n % 2 === 1 ? { tokens: 20, eventsPerSecond: 50 + (n % 7) * 50 } : { tokens: 20, ttftMs: 20 + (n % 5) * 60 }
}

async function killOne(number: number, random: () => number): Promise<Kill> {
  if (number % SUPERVISOR_EVERY === 0) return killSupervisor()
  const children = gateway.children().filter(({ kind }) => kind !== 'simulator')
  const victim = children[Math.floor(random() * children.length)]
  if (victim === undefined || victim.kind === 'simulator') throw new Error('nobody to kill')
  return killChild(gateway, victim.kind, victim.pid)
}

/** Its children are left to themselves; any connection may be one that they close. */
async function killSupervisor(): Promise<Kill> {
  const atMs = Date.now()
  await gateway.end('SIGKILL')
  gateway = await start({ port: gateway.port, databaseUrl: gateway.databaseUrl })
  return { victim: 'supervisor', atMs, goneAtMs: Date.now(), clientPorts: null }
}

function start(earlier?: { port: number; databaseUrl: string | null }): Promise<TestGateway> {
  return startGateway({
    apiKey,
    fronts: FRONTS,
    dataDir,
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
    ...(earlier === undefined ? {} : { env: { PORT: String(earlier.port) } }),
    ...(earlier?.databaseUrl ? { database: { url: earlier.databaseUrl } } : {}),
  })
}
