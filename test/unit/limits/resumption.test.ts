import { expect, it } from 'vitest'
import type { LeaseReply, LeaseRequest, LeaseResume } from '../../../src/shared/core/allowance.ts'
import { InProcessAuthority } from '../../../src/control/leases/in-process-authority.ts'

const resumed = (writer: string): LeaseResume => ({ type: 'lease-resume', writer, leases: [] })

function closedAuthority(expected: { fronts: number }): { authority: InProcessAuthority; isOpen: () => boolean } {
  let isOpen = false
  const authority = new InProcessAuthority({
    clock: { now: () => 1_700_000_000_000, monotonicUs: () => 0 },
    holders: () => expected.fronts,
    closed: true,
    onOpen: () => (isOpen = true),
    budgets: { read: () => Promise.resolve(new Map()) },
    reply: () => undefined,
  })
  return { authority, isOpen: () => isOpen }
}

it('grants nothing before every front that is still there has told what it holds', () => {
  const expected = { fronts: 3 }
  const { authority, isOpen } = closedAuthority(expected)
  authority.resume('a', resumed('front-a'))
  authority.gone('a')
  expected.fronts = 2
  authority.resume('b', resumed('front-b'))
  authority.openOnceResumed()
  expect(isOpen()).toBe(false)
  authority.resume('c', resumed('front-c'))
  expect(isOpen()).toBe(true)
})

it('waits no longer for a front that has ended', () => {
  const expected = { fronts: 2 }
  const { authority, isOpen } = closedAuthority(expected)
  authority.resume('a', resumed('front-a'))
  authority.openOnceResumed()
  expect(isOpen()).toBe(false)
  expected.fronts = 1
  authority.openOnceResumed()
  expect(isOpen()).toBe(true)
})

it('tells fronts of an authority before it that all places are free again', () => {
  const told: Array<readonly [holder: string, left: number]> = []
  const authority = new InProcessAuthority({
    clock: { now: () => 1_700_000_000_000, monotonicUs: () => 0 },
    holders: () => 2,
    closed: true,
    budgets: { read: () => Promise.resolve(new Map()) },
    reply: (holder: string, { states }: LeaseReply) => {
      for (const { left } of states) told.push([holder, Math.floor(left)])
    },
  })
  const places = (held: number) => ({ allowance: 'key', kind: 'concurrency', limit: 5, held, used: [] }) as const
  authority.resume('a', { ...resumed('front-a'), leases: [places(0)] })
  authority.resume('b', { ...resumed('front-b'), leases: [places(4)] })
  expect(told).toEqual([])
  const nothing: LeaseRequest = {
    type: 'lease-request',
    sequence: 1,
    charges: [],
    returns: [],
    reclaimed: [],
    asks: [],
    cancels: [],
  }
  authority.exchange('b', { ...nothing, returns: [['key', 4]] })
  expect(told.sort()).toEqual([
    ['a', 5],
    ['b', 5],
  ])
})
