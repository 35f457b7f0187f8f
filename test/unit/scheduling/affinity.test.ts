import { expect, it } from 'vitest'
import { keysOf, SchedulingWorld, upstreamKey } from '../../support/scheduling-world.ts'

const OK = { kind: 'ok' } as const
const ids = ['a', 'b', 'c', 'd']

function world(...others: string[]): SchedulingWorld {
  return new SchedulingWorld(keysOf(...ids.concat(others).map((id) => upstreamKey(id))))
}

function homeOf(one: SchedulingWorld, affinity: string): string {
  const slot = one.slot({ affinity })
  expect(slot.choice.how).toBe('affinity')
  slot.release(OK)
  return slot.deployment.key.id
}

const conversations = Array.from({ length: 400 }, (_, index) => `conversation-${index}`)

it('sends a conversation to the same key, in every process', () => {
  const [one, other] = [world(), world()]
  for (const name of conversations) {
    expect(homeOf(one, name)).toBe(homeOf(other, name))
    expect(homeOf(one, name)).toBe(homeOf(one, name))
  }
})

it('spreads conversations by weight', () => {
  const one = new SchedulingWorld(keysOf(upstreamKey('a', { weight: 3 }), upstreamKey('b')))
  const homes = conversations.map((name) => homeOf(one, name))
  const share = homes.filter((id) => id === 'a').length / homes.length
  expect(share).toBeGreaterThan(0.68)
  expect(share).toBeLessThan(0.82)
})

it('moves only those conversations that a new key takes over', () => {
  const [before, after] = [world(), world('e')]
  const moved = conversations.filter((name) => homeOf(before, name) !== homeOf(after, name))
  for (const name of moved) expect(homeOf(after, name)).toBe('e')
  expect(moved.length).toBeGreaterThan(conversations.length / 8)
  expect(moved.length).toBeLessThan(conversations.length / 3)
})

it('leaves a key that is cooling, and comes back', () => {
  const one = world()
  const home = homeOf(one, 'x')
  one.call({ kind: 'rate-limited', retryAfterSeconds: 5 }, { affinity: 'x' })
  const second = homeOf(one, 'x')
  expect(second).not.toBe(home)
  expect(homeOf(one, 'x')).toBe(second)
  one.pass(5_000)
  expect(homeOf(one, 'x')).toBe(home)
})

it('leaves a key that is much busier than the others', () => {
  const one = world()
  const used = Array.from({ length: 10 }, () => one.slot({ affinity: 'x' }).deployment.key.id)
  const home = used[0] ?? ''
  expect(used.filter((id) => id === home).length).toBeLessThan(6)
  expect(used.slice(0, 3)).toEqual([home, home, home])
})

it('leaves a key that is much slower than the others', () => {
  const one = world()
  const home = homeOf(one, 'x')
  for (const id of ids) {
    const slot = one.slot({ tried: new Set(ids.filter((other) => other !== id)) })
    slot.answered({ ok: true, waitMs: id === home ? 5_000 : 500, headroom: null })
    slot.release(OK)
  }
  expect(homeOf(one, 'x')).not.toBe(home)
  one.pass(60_001)
  expect(homeOf(one, 'x')).toBe(home)
})
