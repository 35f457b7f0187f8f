import { afterAll, beforeAll, expect, it } from 'vitest'
import { generateApiKey } from '../../../src/shared/core/api-key.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { call, expectChatError, expectRow, HELLO, jsonOf } from '../../support/ai-calls.ts'
import type { Answer, CallHeaders } from '../../support/ai-calls.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway, TestUpstream } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'

let simulator: Simulator
let gateway: TestGateway
const confined = generateApiKey()
const tenants = { busy: generateApiKey(), quiet: generateApiKey() }

function upstream(model: string, keys: ReadonlyArray<Record<string, unknown>>): TestUpstream {
  return { id: model, dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: [model], keys }
}

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({
    fronts: 2,
    upstreams: [
      upstream('narrow', [{ credential: 'upstream-credential-narrow', max_concurrency: 2 }]),
      upstream('held', [{ credential: 'upstream-credential-held', max_concurrency: 1 }]),
      upstream('limited', [{ credential: 'upstream-credential-limited' }]),
      upstream('broken', [{ credential: 'upstream-credential-broken' }]),
      upstream('spare', [{ credential: 'upstream-credential-spare' }]),
      upstream('closed', [{ credential: 'upstream-credential-closed' }]),
    ],
    keys: [
      ...Object.entries(tenants).map(([name, key]) => ({ name, key })),
      { name: 'confined', key: confined, models: ['broken'] },
    ],
    config: { upstream: { queue_wait_ms: 20_000 }, fallbacks: { broken: ['nowhere', 'closed', 'spare'] } },
  })
  simulator.configureKey('upstream-credential-broken', { status: 500 })
  simulator.configureKey('upstream-credential-closed', { status: 500 })
}, 120_000)

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

function ask(model: string, headers: CallHeaders = {}, signal?: AbortSignal): Promise<Answer> {
  return call(gateway, {
    path: '/v1/chat/completions',
    body: { ...HELLO, model },
    headers,
    ...(signal === undefined ? {} : { signal }),
  })
}

async function detailOf(answer: Answer): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${await gateway.adminToken()}` }
  return jsonOf(await call(gateway, { path: `/v1/admin/logs/${answer.id}`, headers }))
}

it('serves two tenants in turns over a key with two slots, and never opens a third call', async () => {
  simulator.configureKey('upstream-credential-narrow', { ttftMs: 30 })
  const order: string[] = []
  const from = (tenant: keyof typeof tenants, count: number): Array<Promise<Answer>> =>
    Array.from({ length: count }, async () => {
      const answer = await ask('narrow', { authorization: `Bearer ${tenants[tenant]}` })
      order.push(tenant)
      return answer
    })
  const busy = from('busy', 60)
  await eventually(() => {
    expect(simulator.ledger.of('upstream-credential-narrow').started).toBeGreaterThan(2)
  })
  const quiet = from('quiet', 10)
  const answers = await Promise.all([...busy, ...quiet])
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  expect(simulator.ledger.of('upstream-credential-narrow')).toMatchObject({ started: 70, maxInFlight: 2, inFlight: 0 })
  // In the order of arrival, the later ones would have waited for all of the earlier ones.
  expect(order.lastIndexOf('quiet')).toBeLessThan(55)
}, 60_000)

it('keeps a request waiting for as long as the provider asked for, and says so in the log', async () => {
  simulator.configureKey('upstream-credential-limited', { status: 429, retryAfter: 2, failTimes: 1 })
  const refused = await ask('limited')
  expectChatError(refused, { status: 503, type: 'service_unavailable', code: 'UPSTREAM_RATE_LIMITED' })
  const served = await ask('limited')
  expect(served.status).toBe(200)
  const row = (await expectRow(gateway, served, { status: 200, attempts: 1 })) as unknown as Record<string, number>
  expect(row['queue_us']).toBeGreaterThan(1_000_000)
  // The wait is no work of the gateway.
  expect(Number(row['overhead_us']) + Number(row['queue_us'])).toBeLessThanOrEqual(row['total_us'] ?? 0)
  expect(await detailOf(served)).toMatchObject({ attempts: [{ choice: { how: 'only', waitUs: expect.any(Number) } }] })
})

it('takes a client that leaves out of the queue', async () => {
  simulator.configureKey('upstream-credential-held', { ttftMs: 1_500 })
  const first = ask('held')
  await eventually(() => {
    expect(simulator.ledger.of('upstream-credential-held').started).toBe(1)
  })
  const leaving = new AbortController()
  const second = ask('held', { 'x-client-request-id': 'leaves-the-queue' }, leaving.signal)
  await eventually(async () => {
    expect(await waitingRequests()).toBe(1)
  })
  leaving.abort()
  await expect(second).rejects.toThrow()
  await eventually(async () => {
    expect(await waitingRequests()).toBe(0)
  })
  expect((await first).status).toBe(200)
  expect(simulator.ledger.of('upstream-credential-held')).toMatchObject({ started: 1, maxInFlight: 1 })
  const row = await eventually(
    async () => {
      const rows = await gateway.logRows({ model: 'held', status: '499' })
      expect(rows).toHaveLength(1)
      return rows[0]
    },
    { timeoutMs: 40_000 },
  )
  expect(row).toMatchObject({ error_code: 'CLIENT_CLOSED', attempts: 0, aborted: true })
})

it('goes to the fallbacks of a model that fails, and the log tells the model asked for and the one that served', async () => {
  const answer = await ask('broken')
  expect(answer.status).toBe(200)
  await expectRow(gateway, answer, { status: 200, model: 'broken', served_model: 'spare', attempts: 3 })
  expect(await detailOf(answer)).toMatchObject({
    attempts: [
      { model: 'broken', outcome: 'UPSTREAM_ERROR' },
      { model: 'closed', outcome: 'UPSTREAM_ERROR' },
      { model: 'spare', outcome: 'ok' },
    ],
  })
})

it('does not fall back to a model that the key may not use', async () => {
  const answer = await ask('broken', { authorization: `Bearer ${confined}` })
  expectChatError(answer, { status: 503, type: 'service_unavailable', code: 'UPSTREAM_ERROR' })
  await expectRow(gateway, answer, { status: 503, attempts: 1 })
})

/** Requests in the queues of all fronts, by the metrics. */
async function waitingRequests(): Promise<number> {
  const headers = { authorization: `Bearer ${await gateway.adminToken()}` }
  const { text } = await call(gateway, { path: '/metrics', headers })
  const values = text.split('\n').filter((line) => line.startsWith('sluice_queue_length{'))
  return values.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}
