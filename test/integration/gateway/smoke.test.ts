import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'

let simulator: Simulator
let gateway: TestGateway

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
  })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

it('answers a chat request and records it', async () => {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi there' }] }),
  })
  expect(response.status).toBe(200)
  const row = await gateway.logRow(response.headers.get('x-request-id') ?? '')
  expect(row).toMatchObject({ status: 200, settlement: 'exact', prompt_tokens: 2 })
})
