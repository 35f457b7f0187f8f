import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { UpstreamChecks } from '../../../src/front/gateway/upstream-check.ts'
import type { HealthCheckResult } from '../../../src/shared/core/health-check.ts'
import type { Provider } from '../../../src/shared/core/snapshot.ts'
import { UpstreamReach } from '../../../src/shared/core/upstream-reach.ts'
import { systemClock } from '../../../src/shared/runtime/clock.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { eventually } from '../../support/eventually.ts'
import { provider, upstreamKey } from '../../support/scheduling-world.ts'

let simulator: Simulator
let checks: UpstreamChecks
beforeAll(async () => {
  simulator = await startSimulator()
  checks = new UpstreamChecks({
    clock: systemClock,
    reach: new UpstreamReach(),
    maxConcurrent: 2,
    onFault: (cause) => {
      throw cause
    },
  })
})
beforeEach(() => {
  simulator.reset()
})
afterAll(async () => {
  await checks.close()
  await simulator.close()
})

interface Wanted extends Partial<Provider> {
  readonly path?: string
  readonly timeoutMs?: number
}

function check({ path, timeoutMs = 5_000, ...members }: Wanted = {}): Promise<HealthCheckResult | null> {
  const timeouts = { connectMs: 5_000, firstByteMs: 60_000, idleMs: 60_000, totalMs: 60_000 }
  const key = upstreamKey('k')
  const checked = provider('p', [key], { baseUrl: `${simulator.origin}/v1`, timeouts, ...members })
  return checks.check(checked, key, { intervalMs: 30_000, timeoutMs, path: path ?? null })
}

it('takes an answer below 500 as good, but for a refused credential', async () => {
  expect(await check()).toEqual({ kind: 'ok' })
  for (const [status, result] of [
    [404, { kind: 'ok' }],
    [403, { kind: 'ok' }],
    [429, { kind: 'ok' }],
    [401, { kind: 'refused', detail: 'status 401' }],
    [500, { kind: 'failed', detail: 'status 500' }],
    [503, { kind: 'failed', detail: 'status 503' }],
  ] as const) {
    simulator.setDefaults({ status })
    expect(await check(), String(status)).toEqual(result)
  }
})

it('sends the credential as calls do, at the list of models or the path', async () => {
  await check()
  await check({ auth: 'x-api-key', dialect: 'anthropic-messages', path: '/other?deep=1' })
  expect(simulator.requests()).toMatchObject([
    { method: 'GET', path: '/v1/models', credential: 'secret-k' },
    { method: 'GET', path: '/other', credential: 'secret-k' },
  ])
})

it('ends a check that gets no answer in its time, and leaves no call behind', async () => {
  simulator.setDefaults({ fault: 'hang-before-headers' })
  expect(await check({ timeoutMs: 1_000 })).toEqual({ kind: 'failed', detail: 'no answer in time' })
  await eventually(() => {
    expect(simulator.stats().inFlight).toBe(0)
  })
})

it('tells a host that cannot be reached, or must not be', async () => {
  expect(await check({ baseUrl: 'http://127.0.0.1:1/v1' })).toMatchObject({ kind: 'unreachable' })
  expect(await check({ publicOnly: true })).toMatchObject({ kind: 'unreachable' })
  expect(simulator.requests()).toEqual([])
})

it('blames no key when this machine has no connection left', async () => {
  simulator.setDefaults({ fault: 'hang-before-headers' })
  const others = [check({ timeoutMs: 2_000 }), check({ timeoutMs: 2_000 })]
  await eventually(() => {
    expect(simulator.stats().inFlight).toBe(2)
  })
  expect(await check()).toBeNull()
  await Promise.all(others)
})
