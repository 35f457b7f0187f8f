import { expect } from 'vitest'
import type { Behaviour } from '../../src/simulator/behaviour.ts'
import type { RequestRecord } from '../../src/simulator/ledger.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { eventually } from './eventually.ts'
import type { LogRow, TestGateway } from './gateway.ts'
import { startGateway } from './gateway.ts'
import { RawClient } from './raw-client.ts'
import { steeredRequest } from './steered-request.ts'

export const DIALECTS = ['openai-chat', 'anthropic-messages'] as const
type DialectName = (typeof DIALECTS)[number]

/** The record of the upstream and the row of the log for a client that left. */
export interface Left {
  readonly record: RequestRecord
  readonly row: LogRow
}

export interface Manner {
  readonly stream: boolean
  readonly behaviour: Behaviour
  /** 0: before the answer's head. */
  readonly afterBytes: number
  readonly stopsReading?: boolean
}

/** A gateway between clients that leave and providers that bill after a disconnect. */
export class LeavingClients {
  readonly #simulator: Simulator
  readonly #gateway: TestGateway
  #clients = 0

  private constructor(simulator: Simulator, gateway: TestGateway) {
    this.#simulator = simulator
    this.#gateway = gateway
  }

  static async start(): Promise<LeavingClients> {
    const simulator = await startSimulator()
    const baseUrl = `${simulator.origin}/v1`
    const more = { bills_after_disconnect: true }
    const gateway = await startGateway({
      upstreams: DIALECTS.map((dialect) => ({ id: dialect, dialect, baseUrl, models: [dialect], more })),
    })
    // Concurrent tests share the token.
    await gateway.adminToken()
    return new LeavingClients(simulator, gateway)
  }

  async stop(): Promise<void> {
    await this.#gateway.stop()
    await this.#simulator.close()
  }

  /** Sends a request, leaves, and waits until the upstream and the log have its end. */
  async leave(dialect: DialectName, manner: Manner): Promise<Left> {
    const user = `client-${this.#clients++}`
    const client = await RawClient.connect(this.#gateway.port, { readBytes: 1_024 })
    const begun = new Promise<void>((resolve) => {
      client.onRead(() => {
        if (manner.afterBytes === 0 || client.bodyBytes < manner.afterBytes) return
        if (manner.stopsReading === true) client.pause()
        resolve()
      })
    })
    const { stream, behaviour } = manner
    const { apiKey } = this.#gateway
    const request = steeredRequest({ apiKey, dialect, model: dialect, user, stream, behaviour })
    client.post(request, () => undefined).catch(() => undefined)
    if (manner.afterBytes > 0) await begun
    else await eventually(() => expect(this.#asked(user)).toBe(true))
    client.close()

    const record = await eventually(
      () => {
        const [found] = this.#simulator.ledger.records().filter((one) => one.user === user)
        if (found === undefined) throw new Error(`${user} is still being answered`)
        return found
      },
      { timeoutMs: 60_000 },
    )
    // Settlement has low priority: on a busy machine the row appears late.
    const row = await eventually(
      async () => {
        const [found] = (await this.#gateway.logRows()).filter((one) => one.client_request_id === user)
        if (found === undefined) throw new Error(`no row of ${user}`)
        return found
      },
      { timeoutMs: 40_000, everyMs: 100 },
    )
    return { record, row }
  }

  #asked(user: string): boolean {
    return this.#simulator.requests().some(({ body }) => body.includes(`"${user}"`))
  }
}
