import { expect, it } from 'vitest'
import { repeat } from '../../../src/shared/runtime/repeat.ts'
import { eventually } from '../../support/eventually.ts'

const EMFILE = Object.assign(new Error('EMFILE: too many open files, uv_resident_set_memory'), { code: 'EMFILE' })

it('goes on after an error, and reports each row of errors once', async () => {
  const faults: unknown[] = []
  const outcomes = [null, EMFILE, EMFILE, null, EMFILE, null]
  let calls = 0
  const work = (): void => {
    const outcome = outcomes[calls] ?? null
    calls += 1
    if (outcome !== null) throw outcome
  }
  const timer = repeat(1, work, (cause) => {
    faults.push(cause)
  })
  await eventually(() => {
    expect(calls).toBeGreaterThanOrEqual(outcomes.length)
  })
  clearInterval(timer)
  expect(faults).toEqual([EMFILE, EMFILE])
})
