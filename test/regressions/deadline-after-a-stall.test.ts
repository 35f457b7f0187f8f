/*
 * Symptom: under load, upstream calls were given up as timed out after 2.9 s of a first-byte timeout of 4 s.
 * Cause: deadlines were set from the time of the clock's last tick, which lies as far back as the event loop was held up.
 * Fix: the clock tells the present time; only the look at what has expired is coarse.
 */
import { expect, it } from 'vitest'
import { Deadline, DeadlineClock } from '../../src/shared/runtime/deadlines.ts'

it('grants a deadline its whole time though it was set long after the last tick', () => {
  let nowMs = 1_000
  const clock = new DeadlineClock({ now: () => nowMs, monotonicUs: () => nowMs * 1_000 })
  let expiredAtMs: number | null = null
  const deadline = new Deadline(() => {
    expiredAtMs = nowMs
  })
  clock.tick()

  nowMs += 1_100
  deadline.atMs = clock.nowMs + 4_000
  clock.watch(deadline)
  for (let ticks = 0; ticks < 200; ticks++) {
    nowMs += 50
    clock.tick()
  }

  expect(expiredAtMs).toBe(1_000 + 1_100 + 4_000)
})
