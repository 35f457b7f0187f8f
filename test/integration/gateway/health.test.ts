import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { call, chat, expectChatError, expectNothingLeaked, jsonOf, steering } from '../../support/ai-calls.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { sluice } from '../../support/sluice.ts'

let simulator: Simulator
let gateway: TestGateway

/** The tests tell one story, in order: all is well, one key is lost, the other too. */
beforeAll(async () => {
  simulator = await startSimulator()
  const upstream = (id: string, max_concurrency: number) => ({
    id,
    dialect: 'openai-chat' as const,
    baseUrl: `${simulator.origin}/v1`,
    models: [id],
    keys: [{ credential: `upstream-credential-${id}`, max_concurrency }],
  })
  gateway = await startGateway({ upstreams: [upstream('m', 7), upstream('n', 30)] })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

const anonymous = { authorization: null }
const probe = (path: string): ReturnType<typeof call> => call(gateway, { path, headers: anonymous })

it('is healthy, live and ready, and says so to anybody', async () => {
  const health = await eventually(async () => {
    const answer = await probe('/health')
    expect(jsonOf(answer)['status']).toBe('healthy')
    return answer
  })
  expect(health.status).toBe(200)
  expect(jsonOf(health)).toEqual({
    status: 'healthy',
    available_keys: 2,
    total_concurrency: 37,
    cache_hit_rate: '0.0%',
    response_cache_hit_rate: '0.0%',
  })
  const live = await probe('/health/live')
  expect([live.status, jsonOf(live)]).toEqual([200, { status: 'ok' }])
  const ready = await probe('/health/ready')
  expect([ready.status, jsonOf(ready)]).toEqual([
    200,
    {
      status: 'ready',
      checks: {
        database: { status: 'ok', latency_ms: expect.any(Number) },
        cache: { status: expect.stringMatching(/^(?:ok|unused)$/), latency_ms: expect.any(Number) },
        key_pool: { status: 'ok', latency_ms: expect.any(Number) },
        journal: { status: 'ok', latency_ms: 0 },
        capacity: { status: 'ok', latency_ms: 0 },
      },
    },
  ])
  for (const answer of [health, live, ready]) {
    expect(answer.headers.get('content-type')).toBe('application/json')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expectNothingLeaked(answer)
  }
})

it('answers HEAD without a body and refuses other methods', async () => {
  const head = await call(gateway, { path: '/health', method: 'HEAD', headers: anonymous })
  expect([head.status, head.text]).toEqual([200, ''])
  const refused = await call(gateway, { path: '/health', body: {}, headers: anonymous })
  expectChatError(refused, { status: 405, type: 'invalid_request', code: 'METHOD_NOT_ALLOWED' })
})

it('writes no row for probes', async () => {
  const marker = await chat(gateway)
  await gateway.logRow(marker.id)
  expect(await gateway.logRows()).toHaveLength(1)
})

it('tells the share of prompt tokens that came from the upstreams’ caches', async () => {
  const answer = await chat(gateway, { messages: steering({ promptTokens: 98, cachedTokens: 75 }) })
  expect(await gateway.logRow(answer.id)).toMatchObject({ prompt_tokens: 98, cached_tokens: 75 })
  await eventually(async () => {
    // Of 100: the two of the request before.
    expect(jsonOf(await probe('/health'))['cache_hit_rate']).toBe('75.0%')
  })
})

it('is degraded, yet ready, while one of the keys cannot be used', async () => {
  expect((await chat(gateway, { model: 'n', messages: steering({ status: 401 }) })).status).toBe(503)
  const health = await probe('/health')
  expect(health.status).toBe(200)
  expect(jsonOf(health)).toMatchObject({
    status: 'degraded',
    reasons: [expect.stringMatching(/^1 of 2 upstream keys are not usable \(credential refused by the provider: 1\)/)],
    available_keys: 1,
    total_concurrency: 7,
  })
  expect((await probe('/health/ready')).status).toBe(200)
  expect((await chat(gateway)).status).toBe(200)
})

it('is unhealthy and not ready, yet live, when no key can be used', async () => {
  expect((await chat(gateway, { messages: steering({ status: 401 }) })).status).toBe(503)
  const health = await probe('/health')
  expect(health.status).toBe(503)
  expect(jsonOf(health)).toMatchObject({
    status: 'unhealthy',
    reasons: [expect.stringMatching(/^no upstream key is usable \(credential refused by the provider: 2\)/)],
    available_keys: 0,
    total_concurrency: 0,
  })
  const ready = await probe('/health/ready')
  expect(ready.status).toBe(503)
  expect(jsonOf(ready)).toMatchObject({
    status: 'not_ready',
    checks: { key_pool: { status: 'down', message: expect.any(String) } },
  })
  expect((await probe('/health/live')).status).toBe(200)
})

it.each<[string, (port: string) => Record<string, string>, boolean]>([
  ['PORT', (port) => ({ PORT: port }), true],
  ['SLUICE__SERVER__PORT, which goes before PORT', (port) => ({ PORT: '1', SLUICE__SERVER__PORT: port }), true],
  [
    'SLUICE_HEALTH_URL, which goes before all',
    (port) => ({ SLUICE__SERVER__PORT: '1', SLUICE_HEALTH_URL: `http://127.0.0.1:${port}/health/live` }),
    true,
  ],
  ['a port where nothing answers', () => ({ PORT: '1' }), false],
])('is found by the health check of the container at %s', async (_, envOf, isFound) => {
  const check = promisify(execFile)(process.execPath, ['config/healthcheck.mjs'], { env: envOf(String(gateway.port)) })
  await (isFound ? expect(check).resolves.toBeDefined() : expect(check).rejects.toMatchObject({ code: 1 }))
})

it('says that no upstream key is usable to clients, and why to operators: in the log and by doctor', async () => {
  const answer = await chat(gateway)
  expectChatError(answer, {
    status: 503,
    type: 'service_unavailable',
    code: 'NO_UPSTREAM_CAPACITY',
    message: 'No upstream key of this model is usable at the moment.',
  })
  expectNothingLeaked(answer)
  await eventually(() => {
    expect(gateway.output).toMatch(
      /upstream key \S+ is not used for \d+ s: the provider refuses its credential \(HTTP 401 .*\); replace the key/,
    )
  })
  const said = await sluice(['doctor', '--json', '--config', join(gateway.dataDir, 'test-config.yaml')], {
    cwd: gateway.dataDir,
    env: {
      SLUICE_DATA_DIR: gateway.dataDir,
      HOST: '127.0.0.1',
      PORT: String(gateway.port),
      ...(gateway.databaseUrl === null ? {} : { DATABASE_URL: gateway.databaseUrl }),
    },
  })
  const { findings } = jsonOf({ text: said.stdout }) as unknown as { findings: Array<Record<string, unknown>> }
  expect(findings.find(({ check }) => check === 'gateway')).toMatchObject({
    status: 'failed',
    says: expect.stringMatching(/^serves no AI requests: no upstream key is usable \(credential refused/),
  })
}, 60_000)
