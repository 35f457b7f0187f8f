import { afterEach, expect, it } from 'vitest'
import { Pacer } from '../../../src/simulator/pacer.ts'

let pacer = new Pacer()
afterEach(() => {
  pacer.close()
  pacer = new Pacer()
})

/** Resolves with the time at which the task was resumed. */
function resumedAt(delayMs: number): Promise<number> {
  const started = pacer.now()
  return new Promise((resolve) => {
    pacer.at({ resume: () => resolve(pacer.now() - started) }, started + delayMs)
  })
}

it('resumes each task at its time, whatever the order they came in', async () => {
  const delays = [40, 5, 1100, 0, 90, 2500, 41]
  const times = await Promise.all(delays.map(resumedAt))
  delays.forEach((delay, index) => {
    expect(times[index]).toBeGreaterThanOrEqual(delay)
  })
})

it('takes a task that waits again while it is resumed', async () => {
  let turns = 0
  await new Promise<void>((resolve) => {
    const task = {
      resume: () => {
        if (++turns === 20) resolve()
        else pacer.at(task, pacer.now() + (turns % 3))
      },
    }
    pacer.at(task, pacer.now())
  })
  expect(turns).toBe(20)
})

it('resumes in the next turn all that asked in this one', async () => {
  const seen: number[] = []
  const done = new Promise<void>((resolve) => {
    for (let i = 0; i < 3; i++) {
      pacer.nextTurn({
        resume: () => {
          seen.push(i)
          if (i === 2) resolve()
        },
      })
    }
  })
  expect(seen).toEqual([])
  await done
  expect(seen).toEqual([0, 1, 2])
})
