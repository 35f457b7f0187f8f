import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { call } from '../../support/ai-calls.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { peakResidentBytes, residentBytes } from '../../support/process-memory.ts'

const MIB = 1024 * 1024
/** Just below what the gateway takes unless configured otherwise. */
const BODY_BYTES = 31 * MIB

let simulator: Simulator
let gateway: TestGateway

beforeAll(async () => {
  simulator = await startSimulator()
  const baseUrl = `${simulator.origin}/v1`
  gateway = await startGateway({
    fronts: 1,
    upstreams: [{ dialect: 'anthropic-messages', baseUrl, models: ['c'] }],
    config: { workers: { threads: 1 } },
  })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

function conversation(bytes: number): string {
  const content = 'The quick brown fox jumps over the lazy dog, "again" and\nagain. '.repeat(6)
  const turn = [
    { role: 'user', content },
    { role: 'assistant', content },
  ]
  const turns = Math.floor(bytes / (JSON.stringify(turn).length + 1)) - 1
  const messages = [...Array.from({ length: turns }, () => turn).flat(), { role: 'user', content }]
  return JSON.stringify({ model: 'c', messages })
}

it('translates the largest bodies in less than ten times their memory', { timeout: 120_000 }, async () => {
  const send = async (body: string): Promise<void> => {
    const answer = await call(gateway, { path: '/v1/chat/completions', body })
    expect(answer.status, answer.text).toBe(200)
  }
  // The worker that will do it is there.
  await send(conversation(MIB))
  const pid = gateway.children().find(({ kind }) => kind === 'front')?.pid ?? 0
  const before = residentBytes(pid)
  const body = conversation(BODY_BYTES)
  expect(body.length).toBeGreaterThan(0.97 * BODY_BYTES)
  await send(body)
  expect(peakResidentBytes(pid) - before).toBeLessThan(10 * body.length)
})
