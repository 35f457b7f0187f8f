import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { DeadlineClock } from '../../../src/shared/runtime/deadlines.ts'
import type { KeyHealthEvent } from '../../../src/shared/core/key-health-event.ts'
import type { GatewayError } from '../../../src/shared/core/errors.ts'
import type { ManagementRequest, ManagementResponse } from '../../../src/shared/link/control-link.ts'
import { ControlLink } from '../../../src/shared/link/control-link.ts'
import { FrontLink } from '../../../src/shared/link/front-link.ts'
import { MAX_MANAGEMENT_BODY_BYTES } from '../../../src/shared/link/messages.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeExchange } from '../../support/fake-exchange.ts'

export const HEALTH = {
  type: 'health',
  database: { status: 'ok', latencyMs: 1 },
  cache: { status: 'unused', latencyMs: 0 },
  journal: { isBehind: false, lagMs: 0, unsettledBytes: 0, diskFreeBytes: null },
  atMs: 1,
  cacheShare: { promptTokens: 0, cachedTokens: 0 },
} as const

const NO_LEASES = {
  greeted: () => undefined,
  receive: () => undefined,
  unlinked: () => undefined,
  handingOver: () => undefined,
  lost: () => undefined,
  setHolders: () => undefined,
}

/** Both ends of the channel, on a Unix socket of their own; only clients and what is served are fakes. */
export class LinkPair {
  readonly front: FrontLink
  control: ControlLink
  readonly served: ManagementRequest[] = []
  readonly faults: unknown[] = []
  serve: (request: ManagementRequest) => Promise<ManagementResponse> = async () => ({
    status: 200,
    headers: [['Content-Type', 'text/plain']],
    body: Buffer.from('hello'),
  })
  refreshSnapshot = (): Promise<void> => Promise.resolve()
  /** How often the front has heard news. */
  greeted = 0
  readonly heard: KeyHealthEvent[] = []
  readonly #directory = mkdtempSync(join(tmpdir(), 'sluice-link-'))
  readonly #deadlines: DeadlineClock
  #nowMs = 1_000_000

  constructor() {
    this.#deadlines = new DeadlineClock({ now: () => this.#nowMs, monotonicUs: () => this.#nowMs * 1_000 })
    this.control = this.#makeControl()
    this.front = new FrontLink({
      socketPath: join(this.#directory, 'link'),
      front: 'front-0',
      deadlines: this.#deadlines,
    })
  }

  async start(): Promise<this> {
    await this.#listen()
    this.front.start({
      onSnapshot: () => undefined,
      onHealth: () => {
        this.greeted += 1
      },
      onKeyHealthEvent: (news) => {
        this.heard.push(news)
      },
      leases: NO_LEASES,
    })
    await this.connected(1)
    return this
  }

  /** A second front on the same channel. */
  anotherFront(): { readonly heard: KeyHealthEvent[]; readonly greeted: number; stop: () => Promise<void> } {
    const other = { heard: [] as KeyHealthEvent[], greeted: 0, stop: () => Promise.resolve() }
    const front = new FrontLink({
      socketPath: join(this.#directory, 'link'),
      front: 'front-1',
      deadlines: this.#deadlines,
    })
    front.start({
      onSnapshot: () => undefined,
      onHealth: () => {
        other.greeted += 1
      },
      onKeyHealthEvent: (news) => {
        other.heard.push(news)
      },
      leases: NO_LEASES,
    })
    other.stop = () => front.stop()
    return other
  }

  async close(): Promise<void> {
    await this.front.stop()
    this.control.close()
    rmSync(this.#directory, { recursive: true, force: true })
  }

  async restartControl(): Promise<void> {
    this.control.close()
    await this.startControl()
  }

  async startControl(): Promise<void> {
    this.control = this.#makeControl()
    await this.#listen()
  }

  pass(ms: number): void {
    this.#nowMs += ms
    this.#deadlines.tick()
  }

  connected(times: number): Promise<void> {
    return eventually(() => {
      expect(this.greeted).toBeGreaterThanOrEqual(times)
    })
  }

  async forward(exchange: FakeExchange): Promise<{ refusals: GatewayError[] }> {
    const refusals: GatewayError[] = []
    await this.front.tunnel.forward(exchange, 'req_1', (error) => refusals.push(error))
    return { refusals }
  }

  /** A whole request on the same channel: what was under way before it has come. */
  async quick(): Promise<void> {
    const exchange = new FakeExchange({ path: '/quick' })
    await this.forward(exchange)
    await over(exchange)
  }

  #makeControl(): ControlLink {
    return new ControlLink({
      socketPath: join(this.#directory, 'link'),
      maxBodyBytes: MAX_MANAGEMENT_BODY_BYTES,
      onFault: (cause) => this.faults.push(cause),
    })
  }

  #listen(): Promise<void> {
    return this.control.listen({
      greet: () => [HEALTH],
      refreshSnapshot: () => this.refreshSnapshot(),
      serve: async (request) => {
        this.served.push(request)
        return request.path === '/quick'
          ? { status: 200, headers: [], body: Buffer.from('quick') }
          : this.serve(request)
      },
      onUsage: () => undefined,
      onKeyHealthEvent: () => undefined,
      leases: {
        resume: () => undefined,
        farewell: () => undefined,
        exchange: () => undefined,
        gone: () => undefined,
      },
    })
  }
}

export async function over(exchange: FakeExchange): Promise<void> {
  await eventually(() => {
    expect(exchange.response.ended).toBe(true)
  })
}
