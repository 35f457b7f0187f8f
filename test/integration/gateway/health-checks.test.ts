import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { eventually } from '../../support/eventually.ts'
import { startGateway } from '../../support/gateway.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'
import { askChat } from '../../support/program.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let simulator: Simulator
let gateway: TestGateway
beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({
    fronts: 2,
    upstreams: [
      {
        id: 'checked',
        dialect: 'openai-chat',
        baseUrl: `${simulator.origin}/v1`,
        models: ['m'],
        keys: [
          { id: 'good', credential: 'good' },
          { id: 'bad', credential: 'bad' },
        ],
        more: { health_check: { interval_ms: 1000, timeout_ms: 800 } },
      },
      { id: 'unchecked', dialect: 'openai-chat', baseUrl: `${simulator.origin}/other/v1`, models: ['n'] },
    ],
    config: { management: { private_upstreams: ['127.0.0.1'] } },
  })
})
afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

async function unusable(): Promise<number> {
  const health = (await (await fetch(`${gateway.url}/health`)).json()) as { available_keys: number }
  return 3 - health.available_keys
}

it('takes keys out of use without traffic, and brings them back, without a record', async () => {
  await eventually(() =>
    expect(new Set(simulator.requests().map(({ credential }) => credential))).toEqual(new Set(['good', 'bad'])),
  )
  expect(await unusable()).toBe(0)
  simulator.configureKey('bad', { status: 500 })
  await eventually(async () => expect(await unusable()).toBe(1), { timeoutMs: 20_000 })
  simulator.configureKey('good', { status: 401 })
  await eventually(async () => expect(await unusable()).toBe(2), { timeoutMs: 20_000 })
  expect((await askChat(gateway.url, gateway.apiKey, 'm')).status).toBe(503)
  expect(simulator.requests().filter(({ method }) => method === 'POST')).toEqual([])
  simulator.configureKey('bad', {})
  simulator.configureKey('good', {})
  await eventually(async () => expect(await unusable()).toBe(0), { timeoutMs: 20_000 })
  expect((await askChat(gateway.url, gateway.apiKey, 'm')).status).toBe(200)
  expect(simulator.requests().map(({ path }) => path)).not.toContain('/other/v1/models')
  await eventually(async () => expect(await gateway.logRows()).toHaveLength(2))
})

it('checks an upstream of the management plane, at a path of its own', async () => {
  const admin = await ManagementClient.ofAdmin(gateway)
  const body = {
    id: 'stored',
    dialect: 'openai-chat',
    base_url: `${simulator.origin}/stored/v1`,
    models: ['s'],
    keys: [{ id: 'stored-1', credential: 'stored' }],
    health_check: { interval_ms: 1000, path: '/stored/health' },
  }
  const made = await admin.expect('adminCreateUpstream', 201, { body })
  expect(made.json).toMatchObject({ health_check: { interval_ms: 1000, timeout_ms: 5000, path: '/stored/health' } })
  const checks = (): number => simulator.requests().filter(({ path }) => path === '/stored/health').length
  await eventually(() => expect(checks()).toBeGreaterThan(0), { timeoutMs: 20_000 })
  const bad = { params: { id: 'stored' }, body: { health_check: { interval_ms: 5 } } }
  const refused = await admin.expect('adminUpdateUpstream', 400, bad)
  expect(refused.json).toMatchObject({ error: { param: '/health_check/interval_ms' } })
  const off = await admin.expect('adminUpdateUpstream', 200, { params: { id: 'stored' }, body: { health_check: null } })
  expect(off.json).toMatchObject({ health_check: null })
})
