import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { endWithThisProcess } from '../../src/cli/bench/end-with-this-process.ts'
import { eventually } from './eventually.ts'
import { freePort } from './free-port.ts'

/** A Redis on a free port of 127.0.0.1, without persistence. */
export class TestRedis {
  readonly port: number
  readonly #arguments: readonly string[]
  readonly #directory: string
  #child: ChildProcess | null = null
  #exited: Promise<void> = Promise.resolve()

  private constructor(port: number, more: readonly string[]) {
    this.port = port
    this.#directory = mkdtempSync(join(tmpdir(), 'sluice-redis-'))
    this.#arguments = [
      ...['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
      ...['--dir', this.#directory, '--daemonize', 'no', '--loglevel', 'warning', ...more],
    ]
  }

  static async start(more: readonly string[] = []): Promise<TestRedis> {
    const redis = new TestRedis(await freePort(), more)
    await redis.restart()
    return redis
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  /** Starts the server, empty; resolves when it answers. */
  async restart(): Promise<void> {
    const child = spawn('redis-server', this.#arguments, { stdio: 'ignore' })
    let missing: Error | null = null
    endWithThisProcess(child, 'KILL', this.#directory)
    this.#exited = new Promise((resolve) => {
      child.once('exit', () => {
        resolve()
      })
      child.once('error', (cause) => {
        missing = new Error('redis-server is needed, on Debian: apt-get install redis-server', { cause })
        resolve()
      })
    })
    this.#child = child
    const answers = eventually(() => this.command((redis) => redis.ping()), { timeoutMs: 20_000 })
    await Promise.race([answers.catch(() => undefined), this.#exited])
    if (missing !== null) throw missing
    await answers
  }

  /** Sends a signal; resolves when the server has ended, unless the signal does not end it. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    this.#child?.kill(signal)
    if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') await this.#exited
  }

  /** Calls `run` with a new connection. */
  async command<T>(run: (redis: Redis) => Promise<T>): Promise<T> {
    const redis = new Redis(this.port, '127.0.0.1', { lazyConnect: true, retryStrategy: null, connectTimeout: 2_000 })
    redis.on('error', () => undefined)
    try {
      await redis.connect()
      return await run(redis)
    } finally {
      redis.disconnect()
    }
  }

  async stop(): Promise<void> {
    await this.kill('SIGCONT')
    await this.kill('SIGKILL')
    rmSync(this.#directory, { recursive: true, force: true })
  }
}
