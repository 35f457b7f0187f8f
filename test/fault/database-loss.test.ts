import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { eventually } from '../support/eventually.ts'
import type { TestGateway } from '../support/gateway.ts'
import { startGateway } from '../support/gateway.ts'
import { Load, isServed } from '../support/load.ts'
import { killChild, recovered } from '../support/nemesis.ts'
import { startPostgres } from '../support/postgres.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { readStoredLog } from '../support/stored-log.ts'

const FRONTS = 2

describe.runIf(inject('database') === 'postgres')('a Postgres that goes away', () => {
  let simulator: Simulator
  let postgres: TestPostgres
  let gateway: TestGateway

  beforeAll(async () => {
    simulator = await startSimulator()
    postgres = await startPostgres()
    gateway = await startGateway({
      fronts: FRONTS,
      database: { url: await postgres.createDatabase() },
      upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
    })
  })

  afterAll(async () => {
    await gateway.stop()
    await postgres.stop()
    await simulator.close()
  })

  it('fails no request while it is stopped, and every row is there afterwards, once', async () => {
    const load = startLoad('stopped')
    await served(load, 20)
    await postgres.kill('SIGQUIT')
    await eventually(async () => expect(await databaseStatus()).toBe('down'))
    expect(await statusOf('/health/ready')).toBe(200)
    // Far more than one batch of the settler's polls: the journal holds them all.
    await served(load, load.served + 400)
    await postgres.restart()
    await eventually(async () => expect(await databaseStatus()).toBe('ok'), { timeoutMs: 30_000 })
    await served(load, load.served + 20)
    const fates = await load.stop()

    expect(fates.filter((fate) => !isServed(fate))).toEqual([])
    await expectRows(
      'stopped',
      fates.map(({ id }) => id),
    )
  }, 180_000)

  it('fails no request when the control process is killed as well, and starts it again when it is back', async () => {
    const load = startLoad('both')
    await served(load, 20)
    await postgres.kill('SIGKILL')
    const control = gateway.children().find(({ kind }) => kind === 'control')
    await killChild(gateway, 'control', control?.pid ?? 0)
    await served(load, load.served + 100)
    await postgres.restart()
    await recovered(gateway, FRONTS)
    const fates = await load.stop()

    expect(fates.filter((fate) => !isServed(fate))).toEqual([])
    await expectRows(
      'both',
      fates.map(({ id }) => id),
    )
  }, 180_000)

  it('does not hold up a shutdown for longer than a drain may take', async () => {
    const again = await startGateway({
      fronts: 1,
      database: { url: await postgres.createDatabase() },
      config: { server: { fronts: 1, drain_announce_ms: 10, drain_timeout_ms: 1_000 } },
      upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
    })
    await postgres.kill('SIGQUIT')
    try {
      expect(await again.stop()).toBe(0)
    } finally {
      await postgres.restart()
    }
  }, 60_000)

  function startLoad(name: string): Load {
    return new Load({
      url: gateway.url,
      apiKey: gateway.apiKey,
      clients: 8,
      name,
      message: (n) => (n % 2 === 0 ? 'hi [[sim {"ttftMs":80}]]' : 'hi [[sim {"tokens":20,"eventsPerSecond":100}]]'),
      isStream: (n) => n % 2 === 1,
    })
  }

  async function served(load: Load, count: number): Promise<void> {
    await eventually(() => expect(load.served).toBeGreaterThanOrEqual(count), { timeoutMs: 60_000 })
  }

  async function expectRows(name: string, ids: readonly string[]): Promise<void> {
    await eventually(
      async () => {
        const { rows, rowSums, rollupSums } = await readStoredLog(gateway.dataDir, gateway.databaseUrl)
        const stored = rows.flatMap(({ client_request_id: id }) => (id?.startsWith(`${name}-`) ? [id] : []))
        expect(stored.sort()).toEqual([...ids].sort())
        expect(rollupSums).toEqual(rowSums)
      },
      { timeoutMs: 30_000 },
    )
  }

  async function databaseStatus(): Promise<string> {
    const response = await fetch(`${gateway.url}/health/ready`)
    const { checks } = (await response.json()) as { checks: { database: { status: string } } }
    return checks.database.status
  }

  async function statusOf(path: string): Promise<number> {
    const response = await fetch(`${gateway.url}${path}`)
    await response.arrayBuffer()
    return response.status
  }
})

// On the embedded database there is no server to lose but the process that holds it: control-loss.test.ts kills that one.
it.runIf(inject('database') === 'pglite')(
  'serves and records with no database but the embedded one',
  async () => {
    const simulator = await startSimulator()
    const gateway = await startGateway({
      upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
    })
    try {
      const load = new Load({
        url: gateway.url,
        apiKey: gateway.apiKey,
        clients: 2,
        name: 'embedded',
        message: () => 'hi',
      })
      await eventually(() => expect(load.served).toBeGreaterThan(0))
      const control = gateway.children().find(({ kind }) => kind === 'control')
      await killChild(gateway, 'control', control?.pid ?? 0)
      await recovered(gateway, 1)
      const fates = await load.stop()
      expect(fates.filter((fate) => !isServed(fate))).toEqual([])
      expect(await gateway.end('SIGTERM')).toBe(0)
      const { rows } = await readStoredLog(gateway.dataDir, null)
      expect(rows.map(({ client_request_id }) => client_request_id).sort()).toEqual(fates.map(({ id }) => id).sort())
    } finally {
      await gateway.stop()
      await simulator.close()
    }
  },
  120_000,
)
