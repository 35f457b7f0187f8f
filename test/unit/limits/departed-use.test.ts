import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { readDepartedUse, writeDepartedUse } from '../../../src/control/leases/departed-use.ts'
import { InProcessAuthority } from '../../../src/control/leases/in-process-authority.ts'
import { bucketOf } from '../../../src/shared/core/allowance.ts'
import type { LeaseReply, WindowCharges } from '../../../src/shared/core/allowance.ts'

const START_MS = 1_700_000_000_000

function authorityAt(clock: { nowMs: number }, departed: readonly WindowCharges[] = []) {
  const replies: LeaseReply[] = []
  const authority = new InProcessAuthority({
    clock: { now: () => clock.nowMs, monotonicUs: () => 0 },
    holders: () => 1,
    closed: false,
    budgets: { read: () => Promise.resolve(new Map()) },
    reply: (_, reply) => replies.push(reply),
    departed,
  })
  /** How many of so many there are to be had. */
  const granted = (limit: number): number => {
    let count = 0
    for (let sequence = 0; sequence < limit; sequence++) {
      authority.exchange('front', {
        type: 'lease-request',
        sequence,
        charges: [],
        returns: [],
        reclaimed: [],
        cancels: [],
        asks: [{ allowance: 'key', kind: 'rate', limit, need: 1, wanted: 1, blocking: false }],
      })
      count += replies.at(-1)?.grants[0]?.amount ?? 0
    }
    return count
  }
  return { authority, granted }
}

it('the next authority counts what fronts used that have ended, and passes it on while windows see it', () => {
  const clock = { nowMs: START_MS }
  const windows = [{ allowance: 'key', limit: 10, used: [[bucketOf(START_MS), 7]] as const }]
  const first = authorityAt(clock)
  first.authority.farewell({ type: 'lease-farewell', windows })
  clock.nowMs += 20_000
  const second = authorityAt(clock, first.authority.departed())
  clock.nowMs += 20_000
  const third = authorityAt(clock, second.authority.departed())
  expect(third.granted(10)).toBe(3)
  clock.nowMs += 21_000
  expect(third.authority.departed()).toEqual([])
  expect(authorityAt(clock, windows).granted(10)).toBe(10)
})

it('no use is counted that a clock which was set back has not seen yet', () => {
  const clock = { nowMs: START_MS }
  const used = [[bucketOf(START_MS + 3_600_000), 10]] as const
  expect(authorityAt(clock, [{ allowance: 'key', limit: 10, used }]).granted(10)).toBe(10)
})

it('what one gateway leaves in the data directory the next one reads, unless it is damaged', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-departed-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  expect(await readDepartedUse(directory)).toEqual([])
  const used = [{ allowance: 'key', limit: 10, used: [[bucketOf(START_MS), 7]] as const }]
  await writeDepartedUse(directory, used)
  expect(await readDepartedUse(directory)).toEqual(used)
  for (const damaged of ['', '{}', '[1]', '[{"allowance":"key","limit":10,"used":[["a",1]]}]']) {
    writeFileSync(join(directory, 'departed-use.json'), damaged)
    await expect(readDepartedUse(directory)).rejects.toThrow()
  }
})
