import { afterAll, beforeAll, expect, it } from 'vitest'
import { LeavingClients } from '../../support/leaving-clients.ts'

const EVENTS_PER_SECOND = 5
/** The gateway reads on for 30 s. */
const MOST_EVENTS = 30 * EVENTS_PER_SECOND

let clients: LeavingClients

beforeAll(async () => {
  clients = await LeavingClients.start()
})

afterAll(() => clients.stop())

it('gives a provider up whose answer does not end in time', { timeout: 120_000 }, async () => {
  const behaviour = { tokens: 1_000_000, eventsPerSecond: EVENTS_PER_SECOND }
  const { record, row } = await clients.leave('openai-chat', { stream: true, behaviour, afterBytes: 500 })
  expect(record.outcome).toBe('aborted')
  expect(row).toMatchObject({ status: 200, aborted: true, settlement: 'observed' })
  // The client had read two or three of them when it left.
  expect(record.completionTokens).toBeGreaterThan(MOST_EVENTS / 2)
  expect(row.completion_tokens).toBeGreaterThan(0)
})
