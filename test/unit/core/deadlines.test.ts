import { expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../src/shared/runtime/clock.ts'
import { Deadline, DeadlineClock } from '../../../src/shared/runtime/deadlines.ts'
import { eventually } from '../../support/eventually.ts'
import fc from '../../support/fast-check.ts'

function steppedClock(): { clock: DeadlineClock; to: (ms: number) => void } {
  let nowMs = 1_000
  const clock = new DeadlineClock({ now: () => nowMs, monotonicUs: () => nowMs * 1_000 })
  const to = (ms: number): void => {
    nowMs = ms
    clock.tick()
  }
  return { clock, to }
}

function watched(clock: DeadlineClock, atMs: number): { deadline: Deadline; expired: () => number } {
  let count = 0
  const deadline = new Deadline(() => {
    count += 1
  })
  deadline.atMs = atMs
  clock.watch(deadline)
  return { deadline, expired: () => count }
}

it('expires at the first tick at or after its time, once', () => {
  const { clock, to } = steppedClock()
  const { deadline, expired } = watched(clock, 1_100)
  to(1_099)
  expect(expired()).toBe(0)
  to(1_100)
  to(5_000)
  expect(expired()).toBe(1)
  expect(deadline.atMs).toBe(Infinity)
})

it('can be moved, and set again after it expired', () => {
  const { clock, to } = steppedClock()
  const { deadline, expired } = watched(clock, 1_100)
  deadline.atMs = 1_300
  to(1_200)
  expect(expired()).toBe(0)
  to(1_300)
  deadline.atMs = 1_400
  to(1_400)
  expect(expired()).toBe(2)
})

it('is silent once it is forgotten', () => {
  const { clock, to } = steppedClock()
  const { deadline, expired } = watched(clock, 1_100)
  clock.forget(deadline)
  to(2_000)
  expect(expired()).toBe(0)
})

it('may forget and watch others while one expires', () => {
  const { clock, to } = steppedClock()
  const victim = watched(clock, 1_100)
  let born: ReturnType<typeof watched> | null = null
  const killer = new Deadline(() => {
    clock.forget(victim.deadline)
    born = watched(clock, 1_500)
  })
  killer.atMs = 1_050
  clock.forget(victim.deadline)
  clock.watch(killer)
  victim.deadline.atMs = 1_100
  clock.watch(victim.deadline)
  to(1_200)
  expect(victim.expired()).toBe(0)
  to(1_500)
  expect((born as ReturnType<typeof watched> | null)?.expired()).toBe(1)
})

it('tells of a deadline that throws, and expires the others all the same', async () => {
  const faults: unknown[] = []
  const clock = new DeadlineClock({ now: () => 1_000, monotonicUs: () => 1_000_000 }, 1)
  const broken = new Error('broken')
  const thrower = new Deadline(() => {
    throw broken
  })
  thrower.atMs = 1_000
  clock.watch(thrower)
  const { expired } = watched(clock, 1_000)
  clock.start((cause) => {
    faults.push(cause)
  })
  await eventually(() => {
    expect(expired()).toBe(1)
  })
  clock.stop()
  expect(faults).toEqual([broken])
})

it('wakes for a deadline that is set while the clock sleeps', async () => {
  const clock = new DeadlineClock(systemClock, 1)
  clock.start()
  onTestFinished(() => {
    clock.stop()
  })
  const first = watched(clock, clock.nowMs)
  await eventually(() => {
    expect(first.expired()).toBe(1)
  })
  const { expired } = watched(clock, clock.nowMs)
  await eventually(() => {
    expect(expired()).toBe(1)
  })
  first.deadline.atMs = clock.nowMs
  clock.watch(first.deadline)
  await eventually(() => {
    expect(first.expired()).toBe(2)
  })
})

it('does not keep a near deadline waiting for a far one', async () => {
  const clock = new DeadlineClock(systemClock, 1)
  clock.start()
  onTestFinished(() => {
    clock.stop()
  })
  const far = watched(clock, clock.nowMs + 3_600_000)
  const near = watched(clock, clock.nowMs + 20)
  const moved = watched(clock, clock.nowMs + 3_600_000)
  await eventually(() => {
    expect(near.expired()).toBe(1)
  })
  moved.deadline.atMs = clock.nowMs
  await eventually(() => {
    expect(moved.expired()).toBe(1)
  })
  expect(far.expired()).toBe(0)
})

it('never expires early and never twice, for any times and ticks', () => {
  const times = fc.array(fc.integer({ min: 1_001, max: 2_000 }), { maxLength: 20 })
  fc.assert(
    fc.property(times, times, (deadlines, ticks) => {
      const { clock, to } = steppedClock()
      const all = deadlines.map((atMs) => ({ atMs, ...watched(clock, atMs) }))
      for (const tick of [...ticks].sort((a, b) => a - b)) {
        to(tick)
        for (const { atMs, expired } of all) expect(expired()).toBe(atMs <= tick ? 1 : 0)
      }
    }),
    { seed: 4_103 },
  )
})
