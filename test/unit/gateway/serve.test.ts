import { expect, it } from 'vitest'
import type { GatewayError } from '../../../src/shared/core/errors.ts'
import type { Provider, Snapshot } from '../../../src/shared/core/snapshot.ts'
import { dialectOf } from '../../../src/dialects/codecs.ts'
import { serve } from '../../../src/front/gateway/serve.ts'
import type { ServeParts } from '../../../src/front/gateway/serve.ts'
import { RetryBudget } from '../../../src/front/scheduling/retry-budget.ts'
import type { UpstreamClient } from '../../../src/front/upstream/upstream-client.ts'
import { provider, SchedulingWorld, settled, upstreamKey } from '../../support/scheduling-world.ts'
import { makeContext } from './context.ts'
import { noCredentials } from '../../support/no-credentials.ts'
import { noServices } from '../../support/no-services.ts'
import { noTranslator } from '../../support/no-translator.ts'

/** Each model has a provider of its own. */
function snapshotOf(models: Readonly<Record<string, Provider>>): Snapshot {
  return {
    version: 1,
    keys: [],
    providers: Object.values(models),
    models: Object.entries(models).map(([id, { id: providerId }]) => ({
      id,
      created: 0,
      ownedBy: 'test',
      targets: [{ providerId, upstreamModel: `upstream-${id}`, weight: 1 }],
    })),
  }
}

/** Answers with the status of the key that calls. */
class FakeUpstream implements UpstreamClient {
  readonly calls: string[] = []
  readonly totalsMs: number[] = []
  readonly #statusOf: (credential: string) => number

  constructor(statusOf: (credential: string) => number) {
    this.#statusOf = statusOf
  }

  send: UpstreamClient['send'] = ({ common = [], timeouts }, listener) => {
    const credential = common[common.indexOf('authorization') + 1]?.slice('Bearer '.length) ?? ''
    this.calls.push(credential)
    this.totalsMs.push(timeouts.totalMs)
    queueMicrotask(() => {
      listener.onHead(this.#statusOf(credential), {})
      listener.onData(Buffer.from('{}'))
      listener.onEnd()
    })
    const nothing = (): void => undefined
    return { pause: nothing, resume: nothing, progressed: nothing, abort: nothing }
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

interface Served {
  readonly world: SchedulingWorld
  readonly upstream: FakeUpstream
  readonly run: () => { result: Promise<GatewayError | null>; abort: () => void; waitedMs: () => number }
}

function setUp(
  models: Readonly<Record<string, Provider>>,
  statusOf: (credential: string) => number,
  members: Partial<ServeParts> = {},
): Served {
  const world = new SchedulingWorld(snapshotOf(models))
  const upstream = new FakeUpstream(statusOf)
  const parts: ServeParts = {
    scheduler: world.scheduler,
    clock: { now: () => world.nowMs, monotonicUs: () => world.nowMs * 1000 },
    deadlines: world.deadlines,
    upstream,
    translator: noTranslator,
    credentials: noCredentials,
    services: noServices,
    readAnswer: () => ({ usage: null, observedTextBytes: 0, failure: null, body: null }),
    maxAnswerBytes: 1_000,
    vendor: 'anthropic',
    dialectOf,
    retryBudget: new RetryBudget({ least: 3, share: 0.2 }),
    maxAttempts: 3,
    maxQueueWaitMs: 10_000,
    mayQueue: () => true,
    fallbacks: new Map(),
    ...members,
  }
  const run = (): ReturnType<Served['run']> => {
    const { ctx, exchange } = makeContext()
    ctx.body = ctx.body === null ? null : { ...ctx.body, stream: false }
    const result = serve(ctx, parts).then(
      () => null,
      (error: unknown) => error as GatewayError,
    )
    return {
      result,
      abort: () => {
        exchange.response.leave()
      },
      waitedMs: () => ctx.times.queueUs / 1000,
    }
  }
  return { world, upstream, run }
}

function providerOf(id: string, ...keys: readonly string[]): Provider {
  return provider(
    id,
    keys.map((key) => upstreamKey(key, { credential: key, maxConcurrency: 1 })),
  )
}

it('tries no more keys than it may, and passes on when to come back', async () => {
  const { upstream, run } = setUp({ m: providerOf('p', 'a', 'b', 'c', 'd') }, () => 500)
  const error = await run().result
  expect(error).toMatchObject({ code: 'UPSTREAM_ERROR', retryAfterSeconds: expect.any(Number) })
  expect(new Set(upstream.calls).size).toBe(3)
})

it('gives all attempts together the total timeout, and begins none when it is spent', async () => {
  const models = { m: providerOf('p', 'a', 'b', 'c') }
  const { timeouts } = models.m
  const { world, upstream, run } = setUp(models, () => {
    world.nowMs += 0.6 * timeouts.totalMs
    return 500
  })
  expect(await run().result).toMatchObject({ code: 'UPSTREAM_ERROR' })
  expect(upstream.totalsMs).toEqual([timeouts.totalMs, 0.4 * timeouts.totalMs])
})

it('does not retry when too many are at it already', async () => {
  const retryBudget = new RetryBudget({ least: 0, share: 0 })
  const { upstream, run } = setUp({ m: providerOf('p', 'a', 'b') }, () => 500, {
    retryBudget,
    fallbacks: new Map([['m', ['n']]]),
  })
  expect(await run().result).toMatchObject({ code: 'UPSTREAM_ERROR', retryAfterSeconds: expect.any(Number) })
  expect(upstream.calls).toHaveLength(1)
})

it('does not retry what another key cannot mend', async () => {
  const { upstream, run } = setUp({ m: providerOf('p', 'a', 'b') }, () => 400)
  expect(await run().result).toMatchObject({ code: 'UPSTREAM_INVALID_REQUEST' })
  expect(upstream.calls).toHaveLength(1)
})

it('goes to a fallback when all keys have failed', async () => {
  const models = { m: providerOf('p', 'a', 'b'), n: providerOf('q', 'c') }
  const { upstream, run } = setUp(models, (key) => (key === 'c' ? 200 : 500), {
    fallbacks: new Map([['m', ['x', 'n']]]),
  })
  expect(await run().result).toBeNull()
  expect(upstream.calls).toHaveLength(3)
  expect(upstream.calls[2]).toBe('c')
})

it('goes to a fallback when no key has room in time, and leaves it part of that time', async () => {
  const models = { m: providerOf('p', 'a'), n: providerOf('q', 'b') }
  const { world, upstream, run } = setUp(models, () => 200, { fallbacks: new Map([['m', ['n']]]) })
  const slots = ['m', 'n'].map((model) => {
    const route = world.scheduler.route(model, 'openai-chat')
    if (route === null) throw new Error('no route')
    return world.slot({ route })
  })
  const { result, waitedMs } = run()
  await settled()
  world.pass(5_000)
  await settled()
  world.pass(2_000)
  slots[1]?.release({ kind: 'ok' })
  expect(await result).toBeNull()
  expect(upstream.calls).toEqual(['b'])
  expect(waitedMs()).toBe(7_000)
})

it('waits no longer than it may, all models together', async () => {
  const models = { m: providerOf('p', 'a'), n: providerOf('q', 'b') }
  const { world, upstream, run } = setUp(models, () => 200, { fallbacks: new Map([['m', ['n']]]) })
  for (const model of ['m', 'n']) world.slot({ route: world.scheduler.route(model, 'openai-chat') ?? [] })
  const { result } = run()
  await settled()
  world.pass(5_000)
  await settled()
  world.pass(5_000)
  expect(await result).toMatchObject({ code: 'NO_UPSTREAM_CAPACITY', retryAfterSeconds: expect.any(Number) })
  expect(upstream.calls).toEqual([])
})

it('waits for a moment alone while the process has enough to do', async () => {
  const { world, upstream, run } = setUp({ m: providerOf('p', 'a') }, () => 200, { mayQueue: () => false })
  const slot = world.slot()
  const { result, waitedMs } = run()
  await settled()
  world.pass(251)
  expect(await result).toMatchObject({ code: 'NO_UPSTREAM_CAPACITY', retryAfterSeconds: expect.any(Number) })
  expect(waitedMs()).toBeLessThan(300)
  slot.release({ kind: 'ok' })
  expect(await run().result).toBeNull()
  expect(upstream.calls).toEqual(['a'])
})

it('leaves the queue with its client', async () => {
  const { world, upstream, run } = setUp({ m: providerOf('p', 'a') }, () => 200)
  const slot = world.slot()
  const { result, abort } = run()
  await settled()
  abort()
  expect(await result).toMatchObject({ code: 'CLIENT_CLOSED' })
  slot.release({ kind: 'ok' })
  expect(upstream.calls).toEqual([])
  expect(world.inFlight('a')).toBe(0)
})

it('says that a model is not there', async () => {
  const { run } = setUp({ other: providerOf('p', 'a') }, () => 200)
  expect(await run().result).toMatchObject({ code: 'MODEL_NOT_FOUND', param: '/model' })
})
