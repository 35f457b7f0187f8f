import { describe, expect, it } from 'vitest'
import type { Slot } from '../../../src/shared/core/deployment.ts'
import fc from '../../support/fast-check.ts'
import { LocalSlots } from '../../support/local-slots.ts'
import { WaitingSlot } from '../../../src/front/scheduling/waiting-slot.ts'
import { keysOf, provider, SchedulingWorld, snapshotOf, target, upstreamKey } from '../../support/scheduling-world.ts'

const OK = { kind: 'ok' } as const

describe('Scheduler', () => {
  it('never gives more slots of a key than it has, over any history', () => {
    const step = fc.record({
      release: fc.boolean(),
      at: fc.nat(),
      random: fc.double({ min: 0, max: 0.99, noNaN: true }),
    })
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 200, size: 'max' }),
        fc.integer({ min: 1, max: 5 }),
        (steps, capacity) => {
          let random = 0
          const keys = ['a', 'b', 'c'].map((id) => upstreamKey(id, { maxConcurrency: capacity }))
          const world = new SchedulingWorld(keysOf(...keys), { random: () => random })
          const held: Slot[] = []
          for (const { release, at, random: point } of steps) {
            random = point
            if (release) held.splice(at % (held.length || 1), 1)[0]?.release(OK)
            else if (held.length === 3 * capacity) expect(world.hasRoom()).toBe(false)
            else held.push(world.slot())
            for (const { id } of keys) {
              const mine = held.filter((slot) => slot.deployment.key.id === id).length
              expect(world.inFlight(id)).toBe(mine)
              expect(mine).toBeLessThanOrEqual(capacity)
            }
          }
        },
      ),
    )
  })

  it('uses its share of the slots when several processes serve', () => {
    const world = new SchedulingWorld(keysOf(upstreamKey('a', { maxConcurrency: 9 })), { supply: new LocalSlots(4) })
    world.slot()
    world.slot()
    expect(world.hasRoom()).toBe(false)
  })

  it('divides by weight', () => {
    let point = 0
    const world = new SchedulingWorld(keysOf(upstreamKey('a', { weight: 3 }), upstreamKey('b')), {
      random: () => point,
    })
    const counts = { a: 0, b: 0 }
    for (let i = 0; i < 100; i++) {
      point = i / 100
      counts[world.call(OK) as 'a' | 'b'] += 1
    }
    expect(counts).toEqual({ a: 75, b: 25 })
  })

  it('takes the less loaded of two', () => {
    const points = [0, 0.9, 0, 0.9]
    const world = new SchedulingWorld(keysOf(upstreamKey('a'), upstreamKey('b')), {
      random: () => points.shift() ?? 0,
    })
    expect(world.slot().deployment.key.id).toBe('a')
    expect(world.slot()).toMatchObject({
      deployment: { key: { id: 'b' } },
      choice: { how: 'load', score: 0.05, waitUs: 0, others: [['a', 0.15]] },
    })
  })

  it('prefers the key that answers sooner when the other is much slower', () => {
    const points = [0, 0.9, 0.9, 0]
    const world = new SchedulingWorld(keysOf(upstreamKey('a'), upstreamKey('b')), {
      random: () => points.shift() ?? 0,
    })
    for (const [waitMs, tried] of [
      [4_000, 'b'],
      [400, 'a'],
    ] as const) {
      const slot = world.slot({ tried: new Set([tried]) })
      slot.answered({ ok: true, waitMs, headroom: null })
      slot.release(OK)
    }
    expect(world.call(OK)).toBe('b')
    expect(world.call(OK)).toBe('b')
  })

  it('uses a lower priority only when no higher one has room', () => {
    const keys = [
      upstreamKey('second', { priority: 1 }),
      upstreamKey('first', { maxConcurrency: 1 }),
      upstreamKey('third', { priority: 2 }),
    ]
    const world = new SchedulingWorld(keysOf(...keys))
    const first = world.slot()
    expect(first.deployment.key.id).toBe('first')
    expect(first.choice.others).toEqual([
      ['second', 'priority'],
      ['third', 'priority'],
    ])
    const second = world.slot()
    expect(second.deployment.key.id).toBe('second')
    expect(second.choice.others).toEqual([
      ['first', 'full'],
      ['third', 'priority'],
    ])
    first.release(OK)
    expect(world.slot().deployment.key.id).toBe('first')
  })

  it('adds the priority of the target to that of the key', () => {
    const config = snapshotOf(
      [provider('p', [upstreamKey('a', { priority: 1 })]), provider('q', [upstreamKey('b', { priority: 0 })])],
      [target('p'), target('q', { priority: 2 })],
    )
    expect(new SchedulingWorld(config).slot().deployment.key.id).toBe('a')
  })

  it('skips tried and disabled keys, and other dialects', () => {
    const config = snapshotOf(
      [
        provider('p', [upstreamKey('a'), upstreamKey('off', { enabled: false })]),
        provider('q', [upstreamKey('b')], { dialect: 'anthropic-messages' }),
      ],
      [target('p'), target('q')],
    )
    const world = new SchedulingWorld(config)
    expect(world.scheduler.route('m', 'openai-chat')?.map(({ key }) => key.id)).toEqual(['a'])
    expect(world.slot().choice).toEqual({ how: 'only', score: null, waitUs: 0, others: [] })
    expect(world.hasRoom({ tried: new Set(['a']) })).toBe(false)
  })

  it('serves a pattern with the name that was asked for', () => {
    const config = snapshotOf(
      [provider('p', [upstreamKey('a')])],
      [target('p', { upstreamModel: 'vendor/*' })],
      'big-*',
    )
    const { scheduler } = new SchedulingWorld(config)
    for (let time = 0; time < 2; time++) {
      const route = scheduler.route('big-$&-model', 'openai-chat')
      expect(route?.[0]?.deployment.upstreamModel).toBe('vendor/$&-model')
    }
    expect(scheduler.route('small-model', 'openai-chat')).toBeNull()
    expect(scheduler.route('big-model', 'anthropic-messages')).toBeNull()
  })

  it('gives a slot back once, and keeps its count when the configuration is replaced', () => {
    const config = keysOf(upstreamKey('a', { maxConcurrency: 1 }))
    const world = new SchedulingWorld(config)
    const slot = world.slot()
    world.scheduler.update(config)
    expect(world.hasRoom()).toBe(false)
    slot.release(OK)
    slot.release(OK)
    expect(world.inFlight('a')).toBe(0)
    world.slot()
    expect(world.scheduler.acquire(world.request())).toBeInstanceOf(WaitingSlot)
  })

  it('forgets what it learned of a credential with the credential', () => {
    const world = new SchedulingWorld(keysOf(upstreamKey('a')))
    world.call({ kind: 'unauthorised' })
    expect(world.hasRoom()).toBe(false)
    world.scheduler.update(keysOf(upstreamKey('a', { credential: 'another' })))
    expect(world.hasRoom()).toBe(true)
  })
})
