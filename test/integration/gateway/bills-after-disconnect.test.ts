import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Behaviour } from '../../../src/simulator/behaviour.ts'
import type { RequestRecord } from '../../../src/simulator/ledger.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { eventually } from '../../support/eventually.ts'
import type { LogRow, TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { RawClient } from '../../support/raw-client.ts'
import { steeredRequest } from '../../support/steered-request.ts'

/** How long the gateway reads on, and what a slow machine and its coarse clock may add. */
const BOUND_MS = 30_000
const SLACK_MS = 5_000

const DIALECTS = ['openai-chat', 'anthropic-messages'] as const
type DialectName = (typeof DIALECTS)[number]

let simulator: Simulator
let gateway: TestGateway
let clients = 0

beforeAll(async () => {
  simulator = await startSimulator()
  const baseUrl = `${simulator.origin}/v1`
  const more = { bills_after_disconnect: true }
  gateway = await startGateway({
    upstreams: DIALECTS.map((dialect) => ({ id: dialect, dialect, baseUrl, models: [dialect], more })),
  })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

describe.each(DIALECTS)('a provider that bills after a disconnect (%s)', (dialect) => {
  it('is read to the end of its stream, and what it reports is booked', async () => {
    const left = await leave(dialect, { stream: true, behaviour: { tokens: 60, eventsPerSecond: 40 }, afterBytes: 500 })
    expect(left.record).toMatchObject({ outcome: 'ok', completionTokens: 60 })
    expectBooked(left, { status: 200, settlement: 'after_disconnect' })
  })

  it('is read even when the client leaves before the first event', async () => {
    const left = await leave(dialect, { stream: true, behaviour: { tokens: 30, ttftMs: 1_500 }, afterBytes: 0 })
    expect(left.record).toMatchObject({ outcome: 'ok', completionTokens: 30 })
    expectBooked(left, { status: 499, settlement: 'after_disconnect' })
  })

  it('is read to the end of a whole answer', async () => {
    const left = await leave(dialect, { stream: false, behaviour: { tokens: 45, ttftMs: 1_500 }, afterBytes: 0 })
    expect(left.record).toMatchObject({ outcome: 'ok', completionTokens: 45 })
    expectBooked(left, { status: 499, settlement: 'after_disconnect' })
  })

  it('is read on behind a reader that had stopped', async () => {
    const behaviour = { tokens: 200_000 }
    const left = await leave(dialect, { stream: true, behaviour, afterBytes: 500, stopsReading: true })
    expect(left.record).toMatchObject({ outcome: 'ok', completionTokens: 200_000 })
    expectBooked(left, { status: 200, settlement: 'after_disconnect' })
  })
})

it('gives a provider up whose answer does not end in time', { timeout: 120_000 }, async () => {
  const behaviour = { tokens: 1_000_000, eventsPerSecond: 5 }
  const left = await leave('openai-chat', { stream: true, behaviour, afterBytes: 500 })
  const afterMs = (left.record.abortSeenAt ?? 0) - left.leftAt
  expect(left.record.outcome).toBe('aborted')
  expect(afterMs).toBeGreaterThan(BOUND_MS - 1_000)
  expect(afterMs).toBeLessThan(BOUND_MS + SLACK_MS)
  expect(left.row).toMatchObject({ status: 200, aborted: true, settlement: 'observed' })
  expect(left.row.completion_tokens).toBeGreaterThan(0)
})

interface Left {
  readonly record: RequestRecord
  readonly row: LogRow
  readonly leftAt: number
}

interface Manner {
  readonly stream: boolean
  readonly behaviour: Behaviour
  /** 0: before the answer's head. */
  readonly afterBytes: number
  readonly stopsReading?: boolean
}

/** Asks, leaves, and waits until upstream and log know how it ended. */
async function leave(dialect: DialectName, manner: Manner): Promise<Left> {
  const user = `client-${clients++}`
  const client = await RawClient.connect(gateway.port, { readBytes: 1_024 })
  const begun = new Promise<void>((resolve) => {
    client.onRead(() => {
      if (manner.afterBytes === 0 || client.bodyBytes < manner.afterBytes) return
      if (manner.stopsReading === true) client.pause()
      resolve()
    })
  })
  const { stream, behaviour } = manner
  const request = steeredRequest({ apiKey: gateway.apiKey, dialect, model: dialect, user, stream, behaviour })
  client.post(request, () => undefined).catch(() => undefined)
  if (manner.afterBytes > 0) await begun
  else await eventually(() => expect(simulator.requests().some(({ body }) => body.includes(`"${user}"`))).toBe(true))
  const leftAt = Date.now()
  client.close()

  const record = await eventually(
    () => {
      const [found] = simulator.ledger.records().filter((one) => one.user === user)
      if (found === undefined) throw new Error(`${user} is still being answered`)
      return found
    },
    { timeoutMs: BOUND_MS + 2 * SLACK_MS },
  )
  // The process that books yields to the others on a busy machine.
  const row = await eventually(
    async () => {
      const [found] = (await gateway.logRows()).filter((one) => one.client_request_id === user)
      if (found === undefined) throw new Error(`no row of ${user}`)
      return found
    },
    { timeoutMs: 40_000, everyMs: 100 },
  )
  return { record, row, leftAt }
}

function expectBooked({ row, record }: Left, wanted: Partial<LogRow>): void {
  expect(row).toMatchObject({
    ...wanted,
    aborted: true,
    attempts: 1,
    prompt_tokens: record.promptTokens,
    completion_tokens: record.completionTokens,
  })
}
