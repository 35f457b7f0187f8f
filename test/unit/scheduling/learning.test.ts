import { describe, expect, it } from 'vitest'
import type { AttemptOutcome } from '../../../src/shared/core/deployment.ts'
import {
  keysOf,
  provider,
  SchedulingWorld,
  settled,
  snapshotOf,
  target,
  upstreamKey,
} from '../../support/scheduling-world.ts'

const OK = { kind: 'ok' } as const
const FAILED = { kind: 'failed' } as const
const UNREACHABLE = { kind: 'unreachable' } as const

function oneKey(maxConcurrency = 10): SchedulingWorld {
  return new SchedulingWorld(keysOf(upstreamKey('a', { maxConcurrency })))
}

function rateLimited(retryAfterSeconds: number | null = null): AttemptOutcome {
  return { kind: 'rate-limited', retryAfterSeconds }
}

function fail(world: SchedulingWorld, times: number, outcome: AttemptOutcome = FAILED): void {
  for (let time = 0; time < times; time++) world.call(outcome)
}

describe('a key that answered 429', () => {
  it('is left alone for as long as it asked', () => {
    const world = oneKey()
    world.call(rateLimited(7))
    world.pass(6_999)
    expect(world.hasRoom()).toBe(false)
    expect(world.scheduler.noRoom(world.request().route).retryAfterSeconds).toBe(1)
    expect(world.scheduler.capacity(world.nowMs)).toMatchObject({ keys: 1, availableKeys: 0, totalConcurrency: 0 })
    world.pass(1)
    expect(world.hasRoom()).toBe(true)
    expect(world.scheduler.capacity(world.nowMs)).toMatchObject({ keys: 1, availableKeys: 1, totalConcurrency: 10 })
  })

  it('is left alone for a second, then two, then four, when it did not ask', () => {
    const world = oneKey()
    for (const seconds of [1, 2, 4]) {
      world.call(rateLimited())
      world.pass(seconds * 1000 - 1)
      expect(world.hasRoom()).toBe(false)
      world.pass(1)
      expect(world.hasRoom()).toBe(true)
    }
    world.call(OK)
    world.call(rateLimited())
    world.pass(1_000)
    expect(world.hasRoom()).toBe(true)
  })

  it('is cut to fewer calls at a time once for calls that were under way together, and gets them back', () => {
    const world = oneKey()
    const slots = Array.from({ length: 10 }, () => world.slot())
    for (const slot of slots) slot.release(rateLimited(0))
    const held = []
    while (world.hasRoom()) held.push(world.slot())
    expect(held).toHaveLength(7)
    for (const slot of held) slot.release(OK)
    for (let time = 0; time < 100; time++) world.call(OK)
    for (let taken = 0; taken < 10; taken++) world.slot()
  })

  it('is told of to the other processes, and they heed it', () => {
    const world = oneKey()
    const other = oneKey()
    world.call(rateLimited(5))
    expect(world.news.map(({ kind, keyId }) => `${kind} ${keyId}`)).toEqual(['shrink a', 'cooling a'])
    for (const news of world.news) other.scheduler.hear(news)
    expect(other.news).toEqual([])
    expect(other.hasRoom()).toBe(false)
    other.pass(5_000)
    expect(other.hasRoom()).toBe(true)
  })
})

describe('what is left of its limits', () => {
  it('keeps a key unused until the reset when it is nothing, unless a later answer says otherwise', () => {
    const world = oneKey()
    const [first, second] = [world.slot(), world.slot()]
    first.answered({ ok: true, waitMs: 1, headroom: { left: 0, resetAtMs: world.nowMs + 30_000 } })
    first.release(OK)
    world.pass(20_000)
    expect(world.hasRoom()).toBe(false)
    second.answered({ ok: true, waitMs: 1, headroom: { left: 0.1, resetAtMs: world.nowMs + 10_000 } })
    expect(world.hasRoom()).toBe(true)
  })

  it('makes a key less liked the less it is', () => {
    const points = [0.9, 0]
    const world = new SchedulingWorld(keysOf(upstreamKey('a'), upstreamKey('b')), {
      random: () => points.shift() ?? 0,
    })
    const slot = world.slot({ tried: new Set(['b']) })
    slot.answered({ ok: true, waitMs: 1, headroom: { left: 0.05, resetAtMs: world.nowMs + 1_000 } })
    slot.release(OK)
    expect(world.slot()).toMatchObject({
      deployment: { key: { id: 'b' } },
      choice: { score: 0.05, others: [['a', 0.2]] },
    })
  })
})

describe('a breaker', () => {
  it('opens after five failures in a row, not after five with a success between', () => {
    const world = oneKey()
    fail(world, 4)
    world.call(OK)
    fail(world, 4)
    expect(world.hasRoom()).toBe(true)
    fail(world, 1)
    expect(world.hasRoom()).toBe(false)
    expect(world.news).toMatchObject([{ kind: 'breaker-open', keyId: 'a' }])
  })

  it('is not moved by calls that the client gave up', () => {
    const world = oneKey()
    fail(world, 4)
    world.call({ kind: 'abandoned' })
    fail(world, 1)
    expect(world.hasRoom()).toBe(false)
  })

  it('lets one probe through when its time is over, and stays open twice as long when that fails', () => {
    const world = oneKey()
    fail(world, 5)
    world.pass(5_000)
    const probe = world.slot()
    expect(probe.choice.how).toBe('probe')
    expect(world.hasRoom()).toBe(false)
    probe.release(FAILED)
    world.pass(9_999)
    expect(world.hasRoom()).toBe(false)
    world.pass(1)
    expect(world.slot().choice.how).toBe('probe')
  })

  it('lets the next probe through when one was given up', () => {
    const world = oneKey()
    fail(world, 5)
    world.pass(5_000)
    world.call({ kind: 'abandoned' })
    expect(world.slot().choice.how).toBe('probe')
  })

  it('closes with the head of the probe, for those who wait too', async () => {
    const world = oneKey(2)
    fail(world, 5)
    world.pass(5_000)
    const probe = world.slot()
    const waiting = world.wait()
    probe.answered({ ok: true, waitMs: 1, headroom: null })
    await settled()
    expect(waiting.slot?.choice.how).toBe('only')
    expect(world.news.at(-1)).toMatchObject({ kind: 'breaker-closed' })
  })

  it('does not open for a model that does not exist there', () => {
    const world = oneKey()
    fail(world, 20, { kind: 'refused' })
    expect(world.hasRoom()).toBe(true)
  })

  it('makes nobody wait for a provider to recover', () => {
    const world = oneKey()
    const slots = Array.from({ length: 5 }, () => world.slot())
    for (const slot of slots) slot.release(FAILED)
    expect(() => world.scheduler.acquire(world.request())).toThrow(
      expect.objectContaining({ code: 'NO_UPSTREAM_CAPACITY', retryAfterSeconds: 5 }),
    )
  })

  it('asks the request that can still go elsewhere, not one that has failed before', () => {
    const world = new SchedulingWorld(keysOf(upstreamKey('a'), upstreamKey('b'), upstreamKey('c')))
    for (let time = 0; time < 5; time++) world.call(FAILED, { tried: new Set(['b', 'c']) })
    world.pass(5_000)
    expect(world.call({ kind: 'abandoned' }, { tried: new Set(['b']) })).toBe('c')
    expect(world.slot()).toMatchObject({ deployment: { key: { id: 'a' } }, choice: { how: 'probe' } })
  })
})

describe('a key whose credential is refused', () => {
  it('is not used for a minute, then probed once', () => {
    const world = oneKey()
    world.call({ kind: 'unauthorised' })
    expect(world.news).toMatchObject([{ kind: 'disabled', untilMs: world.nowMs + 60_000 }])
    const { message } = world.scheduler.noRoom(world.request().route)
    expect(message).toBe('No upstream key of this model is usable at the moment.')
    world.pass(59_999)
    expect(world.hasRoom()).toBe(false)
    world.pass(1)
    const probe = world.slot()
    expect(probe.choice.how).toBe('probe')
    probe.release({ kind: 'unauthorised' })
    world.pass(119_999)
    expect(world.hasRoom()).toBe(false)
    world.pass(1)
    world.call(OK)
    expect(world.hasRoom()).toBe(true)
  })

  it('is shown as disabled to those who got another', () => {
    const world = new SchedulingWorld(keysOf(upstreamKey('a'), upstreamKey('b')))
    world.call({ kind: 'unauthorised' }, { tried: new Set(['b']) })
    expect(world.slot().choice.others).toEqual([['a', 'disabled']])
  })
})

describe('what clients are told when a model has no slot', () => {
  const words = (outcome: AttemptOutcome, times = 1): string => {
    const world = oneKey()
    fail(world, times, outcome)
    return world.scheduler.noRoom(world.request().route).message
  }

  it('differs by whether its keys are refused, failing, rate limited or in use', () => {
    expect([
      words({ kind: 'unauthorised' }),
      words(FAILED, 5),
      words(UNREACHABLE, 5),
      words(rateLimited(7)),
      words(OK),
    ]).toEqual([
      'No upstream key of this model is usable at the moment.',
      'The upstreams of this model are failing at the moment.',
      'The upstreams of this model are failing at the moment.',
      'The upstreams of this model are rate limiting at the moment.',
      'No upstream has room for this model.',
    ])
  })
})

describe('a provider that cannot be reached', () => {
  const keys = Array.from({ length: 20 }, (_, index) => upstreamKey(`p-${index}`))
  const config = snapshotOf(
    [provider('p', keys), provider('q', [upstreamKey('q-1', { priority: 1 })])],
    [target('p'), target('q')],
  )

  it('is found out with five calls, whatever keys they had', () => {
    const world = new SchedulingWorld(config)
    const used = new Set<string>()
    for (let time = 0; time < 5; time++) used.add(world.call(UNREACHABLE))
    expect(used.size).toBeGreaterThan(1)
    expect(world.slot().deployment.key.id).toBe('q-1')
    expect(world.scheduler.capacity(world.nowMs).availableKeys).toBe(1)
  })

  it('is used again by all of its keys once one has been answered', () => {
    const world = new SchedulingWorld(config)
    for (let time = 0; time < 5; time++) world.call(UNREACHABLE)
    world.pass(5_000)
    const probe = world.slot()
    expect(probe.choice.how).toBe('probe')
    expect(world.slot().deployment.key.id).toBe('q-1')
    probe.answered({ ok: false, waitMs: 1, headroom: null })
    probe.release(FAILED)
    expect(world.slot().deployment.provider.id).toBe('p')
    expect(world.scheduler.capacity(world.nowMs).availableKeys).toBe(21)
  })
})
