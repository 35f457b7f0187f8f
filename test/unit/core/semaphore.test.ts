import { expect, it } from 'vitest'
import { Semaphore } from '../../../src/shared/runtime/semaphore.ts'
import fc from '../../support/fast-check.ts'

it('runs so many at a time, in the order of coming, whatever becomes of them', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.record({ ticks: fc.integer({ min: 0, max: 4 }), fails: fc.boolean() }), { maxLength: 30 }),
      async (places, jobs) => {
        const turns = new Semaphore(places)
        const began: number[] = []
        let running = 0
        let most = 0
        const ended = jobs.map(({ ticks, fails }, index) =>
          turns.run(async () => {
            began.push(index)
            most = Math.max(most, (running += 1))
            for (let tick = 0; tick < ticks; tick++) await Promise.resolve()
            running -= 1
            if (fails) throw new Error('one of them')
          }),
        )
        const outcomes = await Promise.allSettled(ended)
        expect(outcomes.map(({ status }) => status === 'rejected')).toEqual(jobs.map(({ fails }) => fails))
        expect(began).toEqual(jobs.map((_, index) => index))
        expect(most).toBeLessThanOrEqual(places)
      },
    ),
  )
})
