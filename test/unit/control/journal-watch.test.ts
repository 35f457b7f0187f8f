import { tmpdir } from 'node:os'
import { expect, it } from 'vitest'
import { JournalWatch } from '../../../src/control/lifecycle/journal-watch.ts'

it('says once when the database is too far behind, and once when half of that is made up', async () => {
  const told: string[] = []
  let ageMs = 0
  const watch = new JournalWatch({
    directory: tmpdir(),
    measure: () => Promise.resolve({ bytes: ageMs * 2, ageMs }),
    alertLagMs: 1_000,
    onBehind: ({ lagMs, unsettledBytes }) => void told.push(`behind ${lagMs} ${unsettledBytes}`),
    onCaughtUp: ({ lagMs }) => void told.push(`caught up ${lagMs}`),
  })
  for (ageMs of [0, 1_000, 1_001, 2_000, 900, 1_100, 501, 500, 800, 0, 3_000]) await watch.check()
  expect(told).toEqual(['behind 1001 2002', 'caught up 500', 'behind 3000 6000'])
  expect(watch.health).toMatchObject({ isBehind: true, lagMs: 3_000, diskFreeBytes: expect.any(Number) })
})

it('does without the free space of a disk that does not say it', async () => {
  const watch = new JournalWatch({
    directory: '/nowhere/at/all',
    measure: () => Promise.resolve({ bytes: 0, ageMs: 0 }),
    alertLagMs: 1_000,
    onBehind: () => undefined,
    onCaughtUp: () => undefined,
  })
  expect(await watch.check()).toEqual({ isBehind: false, lagMs: 0, unsettledBytes: 0, diskFreeBytes: null })
})
