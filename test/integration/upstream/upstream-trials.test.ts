import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../../src/shared/runtime/clock.ts'
import type { Deployment } from '../../../src/shared/core/deployment.ts'
import { UpstreamProbes } from '../../../src/front/gateway/upstream-probes.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { eventually } from '../../support/eventually.ts'

let simulator: Simulator

beforeAll(async () => {
  simulator = await startSimulator()
})

afterAll(async () => {
  await simulator.close()
})

function deployment(more: Partial<Deployment['provider']> = {}): Deployment {
  const key = { id: 'k', name: 'k', credential: 'credential', enabled: true, weight: 1, maxConcurrency: 1 }
  const provider = {
    id: 'p',
    name: 'p',
    dialect: 'openai-chat' as const,
    baseUrl: `${simulator.origin}/v1`,
    auth: 'bearer' as const,
    headers: {},
    keys: [key],
    timeouts: { connectMs: 5_000, firstByteMs: 30_000, idleMs: 30_000, totalMs: 30_000 },
    billsAfterDisconnect: true,
    ...more,
  }
  return { provider, key, upstreamModel: 'm', weight: 1 }
}

it('has few calls under way at a time, and ends them when who asked has left', async () => {
  const trials = new UpstreamProbes(systemClock, 'anthropic')
  const leaving = new AbortController()
  simulator.setDefaults({ fault: 'hang-before-headers' })
  const running = [1, 2, 3, 4].map(() => trials.run(deployment({ billsAfterDisconnect: false }), leaving.signal))
  await eventually(() => {
    expect(simulator.stats().inFlight).toBe(4)
  })

  await expect(trials.run(deployment(), new AbortController().signal)).rejects.toMatchObject({
    code: 'GATEWAY_OVERLOADED',
  })
  leaving.abort()
  for (const trial of await Promise.all(running)) {
    expect(trial).toMatchObject({ ok: false, status: null, error: { code: 'UPSTREAM_TIMEOUT' } })
  }
  await eventually(() => {
    expect(simulator.stats().inFlight).toBe(0)
  })
  simulator.reset()
  expect(await trials.run(deployment(), new AbortController().signal)).toMatchObject({ ok: true, status: 200 })
})

it('makes no pictures for a test', async () => {
  const trials = new UpstreamProbes(systemClock, 'anthropic')
  const pictures = deployment({ converses: false, services: { images: [{ protocol: 'openai-images' }] } })

  await expect(trials.run(pictures, new AbortController().signal)).rejects.toMatchObject({ param: '/model' })
})
