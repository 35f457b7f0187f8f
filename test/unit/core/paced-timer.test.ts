import { expect, it, onTestFinished } from 'vitest'
import { PacedTimer } from '../../../src/shared/runtime/paced-timer.ts'
import { eventually } from '../../support/eventually.ts'

const HOUR_MS = 3_600_000

function counted(outcomes: ReadonlyArray<number | Error>): {
  timer: PacedTimer
  calls: () => number
  faults: unknown[]
} {
  let calls = 0
  const faults: unknown[] = []
  const work = (): number => {
    const outcome = outcomes[calls] ?? Infinity
    calls += 1
    if (outcome instanceof Error) throw outcome
    return outcome
  }
  const timer = new PacedTimer(1, work, (cause) => {
    faults.push(cause)
  })
  onTestFinished(() => {
    timer.stop()
  })
  return { timer, calls: () => calls, faults }
}

it('calls its work when the work said, until the work asks for no more calls', async () => {
  const { timer, calls } = counted([1, 2, Infinity, Infinity])
  await eventually(() => {
    expect(calls()).toBe(3)
  })
  timer.within(1)
  await eventually(() => {
    expect(calls()).toBe(4)
  })
})

it('brings a call forward, and never puts it off', async () => {
  const { timer, calls } = counted([HOUR_MS, 1])
  await eventually(() => {
    expect(calls()).toBe(1)
  })
  timer.within(1)
  timer.within(HOUR_MS)
  await eventually(() => {
    expect(calls()).toBe(3)
  })
})

it('goes on after an error, and reports each series of errors once', async () => {
  const broken = new Error('broken')
  const { calls, faults } = counted([1, broken, broken, 1, broken, Infinity])
  await eventually(() => {
    expect(calls()).toBe(6)
  })
  expect(faults).toEqual([broken, broken])
})

it('may be asked by its own work for the next call', async () => {
  let calls = 0
  const timer: PacedTimer = new PacedTimer(
    1,
    () => {
      calls += 1
      if (calls === 1) timer.within(1)
      return Infinity
    },
    () => undefined,
  )
  onTestFinished(() => {
    timer.stop()
  })
  await eventually(() => {
    expect(calls).toBe(2)
  })
})
