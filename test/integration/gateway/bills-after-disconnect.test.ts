import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LogRow } from '../../support/gateway.ts'
import type { Left } from '../../support/leaving-clients.ts'
import { DIALECTS, LeavingClients } from '../../support/leaving-clients.ts'

let clients: LeavingClients

beforeAll(async () => {
  clients = await LeavingClients.start()
})

afterAll(() => clients.stop())

describe.each(DIALECTS)('a provider that bills after a disconnect (%s)', (dialect) => {
  it.concurrent('is read to the end of its stream, and what it reports is booked', async () => {
    const left = await clients.leave(dialect, {
      stream: true,
      behaviour: { tokens: 60, eventsPerSecond: 40 },
      afterBytes: 500,
    })
    expect(left.record).toMatchObject({ outcome: 'ok', completionTokens: 60 })
    expectBooked(left, { status: 200, settlement: 'after_disconnect' })
  })

  it.concurrent('is read even when the client leaves before the first event', async () => {
    const left = await clients.leave(dialect, { stream: true, behaviour: { tokens: 30, ttftMs: 1_500 }, afterBytes: 0 })
    expect(left.record).toMatchObject({ outcome: 'ok', completionTokens: 30 })
    expectBooked(left, { status: 499, settlement: 'after_disconnect' })
  })

  it.concurrent('is read to the end of a whole answer', async () => {
    const left = await clients.leave(dialect, {
      stream: false,
      behaviour: { tokens: 45, ttftMs: 1_500 },
      afterBytes: 0,
    })
    expect(left.record).toMatchObject({ outcome: 'ok', completionTokens: 45 })
    expectBooked(left, { status: 499, settlement: 'after_disconnect' })
  })

  it.concurrent('is read on behind a reader that had stopped', async () => {
    const behaviour = { tokens: 200_000 }
    const left = await clients.leave(dialect, { stream: true, behaviour, afterBytes: 500, stopsReading: true })
    expect(left.record).toMatchObject({ outcome: 'ok', completionTokens: 200_000 })
    expectBooked(left, { status: 200, settlement: 'after_disconnect' })
  })
})

function expectBooked({ row, record }: Left, wanted: Partial<LogRow>): void {
  expect(row).toMatchObject({
    ...wanted,
    aborted: true,
    attempts: 1,
    prompt_tokens: record.promptTokens,
    completion_tokens: record.completionTokens,
  })
}
