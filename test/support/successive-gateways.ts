import { readFileSync, writeFileSync } from 'node:fs'
import { expect } from 'vitest'
import { eventually } from './eventually.ts'
import type { GatewayOptions, TestGateway } from './gateway.ts'
import { startGateway } from './gateway.ts'
import { NewConnections } from './new-connections.ts'
import { readStoredLog } from './stored-log.ts'

/** Time for the next gateway to start; long enough for a busy machine. */
export const ANNOUNCE_MS = 30_000
const DRAIN_MS = 120_000

/** With this setting Linux gives connections that are not accepted yet to the next listener: docs/operation.md, "Restart". */
const MIGRATE_REQUESTS = '/proc/sys/net/ipv4/tcp_migrate_req'

/** Turns the setting on, if it is allowed; returns a function that restores it. */
export function migrateRequests(): () => void {
  try {
    const before = readFileSync(MIGRATE_REQUESTS, 'utf8')
    writeFileSync(MIGRATE_REQUESTS, '1')
    return () => {
      writeFileSync(MIGRATE_REQUESTS, before)
    }
  } catch {
    console.log(`${MIGRATE_REQUESTS} cannot be set: one of 250 restarts may reset a connection`)
    return () => undefined
  }
}

export interface SuccessiveOptions extends GatewayOptions {
  /** Time for which the first gateway waits for the next; default: `ANNOUNCE_MS`. */
  readonly announceMs?: number
}

export interface RestartsUnderLoad {
  readonly connections: number
  /** New connections a second. */
  readonly rate: number
  readonly restarts: number
}

/** Gateways that replace each other on one port and data directory. */
export class SuccessiveGateways {
  readonly #options: GatewayOptions
  /** The gateway that serves. */
  current: TestGateway

  private constructor(options: GatewayOptions, first: TestGateway) {
    this.#options = options
    this.current = first
  }

  static async start({ announceMs = ANNOUNCE_MS, ...options }: SuccessiveOptions): Promise<SuccessiveGateways> {
    return new SuccessiveGateways(options, await startGateway(withTimes(options, announceMs)))
  }

  /** Ends the serving gateway, starts the next one at once, and returns the previous one. */
  async replace({ isLast = false } = {}): Promise<TestGateway> {
    const leaving = this.current
    leaving.signal('SIGTERM')
    await this.#startNext(leaving, isLast)
    return leaving
  }

  async #startNext({ dataDir, apiKey, port, databaseUrl }: TestGateway, isLast: boolean): Promise<void> {
    const options = withTimes(this.#options, isLast ? 0 : ANNOUNCE_MS)
    this.current = await startGateway({
      ...options,
      dataDir,
      apiKey,
      env: { ...options.env, PORT: String(port) },
      ...(databaseUrl === null ? {} : { database: { url: databaseUrl } }),
    })
  }

  /** Ends the serving gateway, and starts the next one after its end. */
  async restart(): Promise<void> {
    expect(await this.current.end('SIGTERM')).toBe(0)
    await this.#startNext(this.current, true)
  }

  /** Opens new connections during restarts. Expects an answer and a row in the log for each. */
  async expectNoneLost({ connections, rate, restarts }: RestartsUnderLoad): Promise<void> {
    const { url, apiKey } = this.current
    const load = new NewConnections({ url, apiKey, rate, name: 'connection' })
    for (let restart = 1; restart <= restarts; restart++) {
      const leaving = await this.replace({ isLast: restart === restarts })
      expect(await leaving.over()).toBe(0)
      const goal = (connections / restarts) * restart
      await eventually(() => expect(load.over).toBeGreaterThanOrEqual(goal), { timeoutMs: 300_000 })
    }
    await load.stop()
    const { all, chats } = load.longestPausesMs
    console.log(`${load.over} connections, ${restarts} restarts, longest pause ${all} ms, of AI requests ${chats} ms`)

    expect(load.failures).toEqual([])
    expect(await this.current.end('SIGTERM')).toBe(0)
    const { rows, open, segments } = await readStoredLog(this.current.dataDir, this.current.databaseUrl)
    expect(rows.map(({ client_request_id }) => client_request_id).sort()).toEqual(load.answered.sort())
    expect(rows.filter(({ settlement }) => settlement === 'interrupted')).toEqual([])
    expect({ open, segments }).toEqual({ open: 0, segments: [] })
  }
}

function withTimes(options: GatewayOptions, announceMs: number): GatewayOptions {
  const times = { drain_announce_ms: announceMs, drain_timeout_ms: DRAIN_MS }
  const server = { ...(options.config?.['server'] as object | undefined), ...times }
  return { ...options, config: { ...options.config, server } }
}
