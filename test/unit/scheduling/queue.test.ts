import { describe, expect, it } from 'vitest'
import { keysOf, SchedulingWorld, settled, upstreamKey } from '../../support/scheduling-world.ts'
import type { Waiting } from '../../support/scheduling-world.ts'

const OK = { kind: 'ok' } as const

function world(maxWaiting = 1_000): SchedulingWorld {
  return new SchedulingWorld(keysOf(upstreamKey('a', { maxConcurrency: 1 })), { maxWaiting })
}

function served(waiting: Readonly<Record<string, Waiting>>): string[] {
  return Object.keys(waiting).filter((name) => waiting[name]?.slot !== null)
}

describe('the queue', () => {
  it('is served by a release, in the order of arrival within a tenant', async () => {
    const one = world()
    const slot = one.slot()
    const waiting = { first: one.wait(), second: one.wait() }
    expect(one.scheduler.stats(one.nowMs).waiting).toBe(2)
    one.nowMs += 250
    slot.release(OK)
    await settled()
    expect(served(waiting)).toEqual(['first'])
    expect(waiting.first.slot?.choice).toMatchObject({ how: 'only', waitUs: 250_000 })
    waiting.first.slot?.release(OK)
    await settled()
    expect(served(waiting)).toEqual(['first', 'second'])
    expect(one.scheduler.stats(one.nowMs).waiting).toBe(0)
  })

  it('serves tenants in turns, however many each has waiting', async () => {
    const one = world()
    const order: string[] = []
    let slot = one.slot()
    const waiting = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map((name) => ({
      name,
      place: one.wait({ tenant: name.slice(0, 1) }),
    }))
    while (order.length < waiting.length) {
      slot.release(OK)
      await settled()
      const next = waiting.find(({ name, place }) => place.slot !== null && !order.includes(name))
      if (next?.place.slot === null || next === undefined) throw new Error('nobody was served')
      order.push(next.name)
      slot = next.place.slot
    }
    expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
  })

  it('lets nobody pass who comes later', async () => {
    const one = world()
    one.call({ kind: 'rate-limited', retryAfterSeconds: 2 })
    const first = one.wait()
    // The cool-down is over, but no timer has told of it yet.
    one.nowMs += 2_000
    const second = one.wait()
    await settled()
    expect(first.slot).not.toBeNull()
    expect(second.slot).toBeNull()
  })

  it('is served when a cool-down ends', async () => {
    const one = world()
    one.call({ kind: 'rate-limited', retryAfterSeconds: 2 })
    const waiting = one.wait()
    one.pass(1_999)
    await settled()
    expect(waiting.slot).toBeNull()
    one.pass(1)
    await settled()
    expect(waiting.slot).not.toBeNull()
  })

  it('is served when the configuration gives a key more slots', async () => {
    const one = world()
    one.slot()
    const waiting = one.wait()
    one.scheduler.update(keysOf(upstreamKey('a', { maxConcurrency: 2 })))
    await settled()
    expect(waiting.slot).not.toBeNull()
  })

  it('is left at the deadline, with a word on when to come back', async () => {
    const one = world()
    const slot = one.slot()
    const waiting = one.wait({ maxWaitMs: 300 })
    one.pass(299)
    await settled()
    expect(waiting.error).toBeNull()
    one.pass(1)
    await settled()
    expect(waiting.error).toMatchObject({ code: 'NO_UPSTREAM_CAPACITY', retryAfterSeconds: expect.any(Number) })
    slot.release(OK)
    expect(one.hasRoom()).toBe(true)
  })

  it('is left by a client that goes, without taking a slot along', async () => {
    const one = world()
    const slot = one.slot()
    const gone = one.wait()
    const stays = one.wait()
    gone.place.cancel()
    slot.release(OK)
    await settled()
    expect(gone.error).toMatchObject({ code: 'CLIENT_CLOSED' })
    expect(stays.slot).not.toBeNull()
    gone.place.cancel()
    expect(one.inFlight('a')).toBe(1)
  })

  it('is closed to whom no key can serve before the deadline', () => {
    const one = world()
    one.call({ kind: 'rate-limited', retryAfterSeconds: 30 })
    expect(() => one.scheduler.acquire(one.request())).toThrow(
      expect.objectContaining({ code: 'NO_UPSTREAM_CAPACITY', retryAfterSeconds: 30 }),
    )
    expect(() => one.scheduler.acquire(one.request({ maxWaitMs: 0 }))).toThrow(/rate limiting/)
  })

  it('is left by whom no key can serve any more', async () => {
    const one = world()
    const slot = one.slot()
    const waiting = one.wait()
    slot.release({ kind: 'rate-limited', retryAfterSeconds: 60 })
    await settled()
    expect(waiting.error).toMatchObject({ code: 'NO_UPSTREAM_CAPACITY', retryAfterSeconds: 60 })
  })

  it('is left by those who wait for a key that is taken out of use', async () => {
    const one = world()
    one.slot()
    const waiting = one.wait()
    one.scheduler.update(keysOf(upstreamKey('a', { enabled: false })))
    await settled()
    expect(waiting.error).toMatchObject({ code: 'NO_UPSTREAM_CAPACITY' })
  })

  it('is full for the tenant that fills it, not for another', async () => {
    const one = world(4)
    one.slot()
    const greedy = [1, 2, 3, 4].map(() => one.wait({ tenant: 'greedy' }))
    expect(() => one.scheduler.acquire(one.request({ tenant: 'greedy' }))).toThrow(/room/)
    one.wait({ tenant: 'modest' })
    await settled()
    expect(greedy.map(({ error }) => error !== null)).toEqual([false, false, false, true])
    one.wait({ tenant: 'modest' })
    await settled()
    expect(greedy.map(({ error }) => error !== null)).toEqual([false, false, true, true])
    expect(() => one.scheduler.acquire(one.request({ tenant: 'modest' }))).toThrow(/room/)
  })

  it('does not hold up those whom another key can serve', async () => {
    const keys = keysOf(upstreamKey('a', { maxConcurrency: 1 }), upstreamKey('b', { maxConcurrency: 1 }))
    const one = new SchedulingWorld(keys)
    one.slot({ tried: new Set(['b']) })
    const forA = one.wait({ tried: new Set(['b']) })
    const slot = one.slot()
    expect(slot.deployment.key.id).toBe('b')
    const either = one.wait()
    slot.release(OK)
    await settled()
    expect(forA.slot).toBeNull()
    expect(either.slot?.deployment.key.id).toBe('b')
  })
})
