import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { repeat } from '../../../src/core/repeat.ts'

const EMFILE = Object.assign(new Error('EMFILE: too many open files, uv_resident_set_memory'), { code: 'EMFILE' })

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

it('goes on after an error, and reports each row of errors once', () => {
  const faults: unknown[] = []
  const outcomes = [null, EMFILE, EMFILE, null, EMFILE, null]
  let calls = 0
  const work = (): void => {
    const outcome = outcomes[calls] ?? null
    calls += 1
    if (outcome !== null) throw outcome
  }
  const timer = repeat(100, work, (cause) => {
    faults.push(cause)
  })
  vi.advanceTimersByTime(600)
  clearInterval(timer)
  vi.advanceTimersByTime(600)
  expect(calls).toBe(6)
  expect(faults).toEqual([EMFILE, EMFILE])
})
