import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { endWithThisProcess } from '../../src/cli/bench/end-with-this-process.ts'
import { eventually } from './eventually.ts'
import { freePort } from './free-port.ts'
import { TestRedis } from './redis.ts'

const SENTINELS = 3
const QUORUM = 2
const MASTER_NAME = 'sluice-test'

/** A master, its replica, and sentinels that promote the replica within seconds after the master's end. */
export class TestSentinels {
  readonly master: TestRedis
  readonly replica: TestRedis
  readonly #sentinels: ReadonlyArray<{ readonly port: number; readonly child: ChildProcess }>
  readonly #directory: string

  private constructor(
    master: TestRedis,
    replica: TestRedis,
    sentinels: ReadonlyArray<{ readonly port: number; readonly child: ChildProcess }>,
    directory: string,
  ) {
    this.master = master
    this.replica = replica
    this.#sentinels = sentinels
    this.#directory = directory
  }

  static async start(): Promise<TestSentinels> {
    const master = await TestRedis.start()
    const replica = await TestRedis.start(['--replicaof', `127.0.0.1 ${master.port}`])
    const directory = mkdtempSync(join(tmpdir(), 'sluice-sentinels-'))
    const sentinels: Array<Awaited<ReturnType<typeof startSentinel>>> = []
    for (let i = 0; i < SENTINELS; i++) sentinels.push(await startSentinel(directory, master.port))
    const all = new TestSentinels(master, replica, sentinels, directory)
    await eventually(
      async () => {
        for (const { port } of sentinels) await all.#knowsEverybody(port)
      },
      { timeoutMs: 30_000 },
    )
    return all
  }

  /** The `redis` section of the configuration file. */
  get settings(): Record<string, unknown> {
    return { sentinels: this.#sentinels.map(({ port }) => `127.0.0.1:${port}`), master_name: MASTER_NAME }
  }

  /** Resolves when the replica has become the master. */
  async failedOver(): Promise<void> {
    await eventually(
      async () => {
        const role = (await this.replica.command((redis) => redis.call('ROLE'))) as readonly unknown[]
        if (role[0] !== 'master') throw new Error(`the replica is a ${String(role[0])}`)
      },
      { timeoutMs: 30_000 },
    )
  }

  async stop(): Promise<void> {
    for (const { child } of this.#sentinels) {
      child.kill('SIGKILL')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    }
    await Promise.all([this.master.stop(), this.replica.stop()])
    rmSync(this.#directory, { recursive: true, force: true })
  }

  async #knowsEverybody(port: number): Promise<void> {
    const sentinel = new Redis(port, '127.0.0.1', { lazyConnect: true, retryStrategy: null })
    sentinel.on('error', () => undefined)
    try {
      await sentinel.connect()
      const fields = (await sentinel.call('SENTINEL', 'MASTER', MASTER_NAME)) as readonly string[]
      const valueOf = (name: string): number => Number(fields[fields.indexOf(name) + 1])
      if (valueOf('num-other-sentinels') !== SENTINELS - 1) throw new Error('not all sentinels know each other')
      if (valueOf('num-slaves') !== 1) throw new Error('the sentinels do not know the replica')
    } finally {
      sentinel.disconnect()
    }
  }
}

async function startSentinel(directory: string, masterPort: number): Promise<{ port: number; child: ChildProcess }> {
  const port = await freePort()
  // Sentinels write their state into their configuration files.
  const file = join(directory, `sentinel-${port}.conf`)
  const settings = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${directory}`,
    `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${masterPort} ${QUORUM}`,
    `sentinel down-after-milliseconds ${MASTER_NAME} 1000`,
    `sentinel failover-timeout ${MASTER_NAME} 5000`,
  ]
  writeFileSync(file, `${settings.join('\n')}\n`)
  const child = spawn('redis-server', [file, '--sentinel'], { stdio: 'ignore' })
  endWithThisProcess(child, 'KILL', directory)
  return { port, child }
}
