import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import type { DatabaseFault } from '../support/database-faults.ts'
import { countRows, createOwnedDatabase, databaseFaults } from '../support/database-faults.ts'
import { dose, firstCases } from '../support/dose.ts'
import { eventually } from '../support/eventually.ts'
import type { TestGateway } from '../support/gateway.ts'
import { startGateway } from '../support/gateway.ts'
import { Load, isServed } from '../support/load.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { startPostgres } from '../support/postgres.ts'
import { readStoredLog } from '../support/stored-log.ts'

/** Of each fault; ten minutes is what is promised. */
const OUTAGE_S = dose('SLUICE_TEST_OUTAGE_S', { short: 3, long: 8 })
const FRONTS = 2
const FAULTS = ['stopped', 'killed', 'paused', 'out of connections', 'out of disk', 'locked']
const TIMEOUT_MS = OUTAGE_S * 1_000 + 240_000

describe.runIf(inject('database') === 'postgres')('a Postgres that fails', () => {
  let simulator: Simulator
  let postgres: TestPostgres
  let adminUrl: string
  let gateway: TestGateway
  let faults: DatabaseFault[]
  let requests = 0

  beforeAll(async () => {
    simulator = await startSimulator()
    postgres = await startPostgres()
    const { url, ...owned } = await createOwnedDatabase(postgres)
    adminUrl = owned.adminUrl
    gateway = await startGateway({
      fronts: FRONTS,
      database: { url },
      config: {
        journal: { alert_lag_ms: 1_000 },
        database: { statement_timeout_ms: Math.min(30_000, OUTAGE_S * 500) },
      },
      upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
    })
    faults = databaseFaults(postgres, adminUrl)
    expect(faults.map(({ name }) => name)).toEqual(FAULTS)
  })

  afterAll(async () => {
    await gateway.stop()
    await postgres.stop()
    await simulator.close()
  })

  it.each(firstCases(2, FAULTS))(
    'fails no request and loses no row while it is %s, says that it is behind, and catches up',
    async (name) => {
      const fault = faults.find((one) => one.name === name)
      const load = new Load({
        url: gateway.url,
        apiKey: gateway.apiKey,
        clients: 8,
        name: name.replaceAll(' ', '-'),
        message: (n) => (n % 2 === 0 ? 'hi [[sim {"ttftMs":5}]]' : 'hi [[sim {"tokens":5,"eventsPerSecond":500}]]'),
        isStream: (n) => n % 2 === 1,
      })
      await eventually(() => expect(load.served).toBeGreaterThanOrEqual(20), { timeoutMs: 30_000 })
      await fault?.begin()
      const beganMs = Date.now()
      const before = load.served
      try {
        await eventually(async () => expect((await health()).journal?.status).toBe('behind'), { timeoutMs: 60_000 })
        await eventually(
          () => {
            expect(Date.now() - beganMs).toBeGreaterThanOrEqual(OUTAGE_S * 1_000)
            expect(load.served).toBeGreaterThanOrEqual(before + 100)
          },
          { timeoutMs: TIMEOUT_MS, everyMs: 100 },
        )
        expect((await health()).status).toBe('degraded')
      } finally {
        await fault?.end()
      }
      const missed = load.served - before
      const restoredMs = Date.now()
      const fates = await load.stop()
      expect(fates.filter((fate) => !isServed(fate))).toEqual([])

      requests += fates.length
      await eventually(async () => expect(await countRows(adminUrl)).toBeGreaterThanOrEqual(requests), {
        timeoutMs: 120_000,
        everyMs: 100,
      })
      const drainS = (Date.now() - restoredMs) / 1_000
      console.log(
        `${name} for ${OUTAGE_S} s: ${fates.length} requests, ${missed} of them meanwhile, in the database ${drainS} s after`,
      )
      const { rows, rollupSums, rowSums, deadLetters } = await readStoredLog(gateway.dataDir, adminUrl)
      const ids = rows.flatMap(({ client_request_id: id }) => (id?.startsWith(prefix(fates)) ? [id] : []))
      expect(ids.sort()).toEqual(fates.map(({ id }) => id).sort())
      expect(rollupSums).toEqual(rowSums)
      expect(deadLetters).toBe(0)
      await eventually(async () => expect((await health()).journal).toBeUndefined(), { timeoutMs: 30_000 })
    },
    TIMEOUT_MS,
  )

  async function health(): Promise<{ status: string; journal?: { status: string } }> {
    const response = await fetch(`${gateway.url}/health`)
    return (await response.json()) as { status: string; journal?: { status: string } }
  }
})

function prefix(fates: ReadonlyArray<{ readonly id: string }>): string {
  const { id = '' } = fates[0] ?? {}
  return id.slice(0, id.lastIndexOf('-') + 1)
}
