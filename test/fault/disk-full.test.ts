import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { eventually } from '../support/eventually.ts'
import type { TestGateway } from '../support/gateway.ts'
import { startGateway } from '../support/gateway.ts'
import { Load, isServed } from '../support/load.ts'
import { copyMadeDatabase } from '../support/program.ts'
import { readStoredLog } from '../support/stored-log.ts'

const DISK_BYTES = 4 * 1024 * 1024
const RESERVE_BYTES = 1024 * 1024

const dataDir = mkdtempSync(join(tmpdir(), 'sluice-full-'))
const journal = join(dataDir, 'journal')
const ballast = join(journal, 'ballast')

/** A disk of its own for the journal takes the rights to mount one. */
const isMounted = mountSmallDisk()
if (!isMounted) rmSync(dataDir, { recursive: true })

describe.runIf(isMounted)('a disk that is full', () => {
  let simulator: Simulator
  let gateway: TestGateway

  beforeAll(async () => {
    if (inject('database') === 'pglite') copyMadeDatabase(dataDir)
    simulator = await startSimulator()
    gateway = await startGateway({
      fronts: 1,
      dataDir,
      config: {
        journal: { reserve_bytes: RESERVE_BYTES },
        // The ladder would let but a trickle in long before: here the last line of defence is meant.
        overload: { loop_delay_ms: 10_000, min_free_disk_bytes: 1 },
      },
      upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
    })
  })

  afterAll(async () => {
    await gateway.stop()
    await simulator.close()
    spawnSync('umount', [journal])
    rmSync(dataDir, { recursive: true, force: true })
  })

  it('refuses requests before a record is lost, ends those under way, and serves again when there is room', async () => {
    const load = new Load({
      url: gateway.url,
      apiKey: gateway.apiKey,
      clients: 16,
      name: 'full',
      message: (n) => (n % 2 === 0 ? 'hi [[sim {"ttftMs":300}]]' : 'hi [[sim {"tokens":20,"eventsPerSecond":40}]]'),
      isStream: (n) => n % 2 === 1,
    })
    await eventually(() => expect(load.served).toBeGreaterThan(40), { timeoutMs: 30_000 })
    fill()
    await eventually(() => expect(refused(load)).toBeGreaterThan(10), { timeoutMs: 30_000 })
    expect(await readiness()).toBe(503)
    rmSync(ballast)
    await eventually(async () => expect(await readiness()).toBe(200))
    const before = load.served
    await eventually(() => expect(load.served).toBeGreaterThan(before + 40), { timeoutMs: 30_000 })
    const fates = await load.stop()
    expect(await gateway.end('SIGTERM')).toBe(0)

    const others = fates.filter((fate) => !isServed(fate) && fate.status !== 503)
    expect(others).toEqual([])
    const { rows, open, deadLetters } = await readStoredLog(dataDir, gateway.databaseUrl)
    const served = fates.filter(isServed).map(({ id }) => id)
    const recorded = rows.filter(({ status }) => status === 200).map(({ client_request_id: id }) => id ?? '')
    expect(recorded.sort()).toEqual(served.sort())
    expect({ open, deadLetters }).toEqual({ open: 0, deadLetters: 0 })
  }, 180_000)

  /** Not a byte is left, but what the gateway has kept for itself. */
  function fill(): void {
    const descriptor = openSync(ballast, 'a')
    const chunk = Buffer.alloc(4_096, 1)
    try {
      for (;;) writeSync(descriptor, chunk)
    } catch (cause) {
      expect((cause as NodeJS.ErrnoException).code).toBe('ENOSPC')
    } finally {
      closeSync(descriptor)
    }
  }

  function refused(load: Load): number {
    return load.fates.filter(({ status, body }) => status === 503 && body.includes('JOURNAL_UNAVAILABLE')).length
  }

  async function readiness(): Promise<number> {
    const response = await fetch(`${gateway.url}/health/ready`)
    await response.arrayBuffer()
    return response.status
  }
})

function mountSmallDisk(): boolean {
  mkdirSync(journal, { recursive: true })
  const options = `size=${DISK_BYTES},mode=700`
  return spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', journal]).status === 0
}
