import { expect, it } from 'vitest'
import { judge } from '../../../src/control/alerts/crossing.ts'
import type { Reading, Standing } from '../../../src/control/alerts/crossing.ts'

function reading(value: number | null, more: Partial<Reading> = {}): Reading {
  return {
    subject: 's',
    value,
    thresholds: [50, 80, 100],
    marginOf: () => 5,
    holdMs: 0,
    details: { type: 't', id: 'i', name: 'n', say: () => '', shownValue: value },
    ...more,
  }
}

/** The thresholds that are told while the value moves. */
function toldOf(values: ReadonlyArray<number | null>, more: Partial<Reading> = {}, stepMs = 1_000): number[] {
  const told: number[] = []
  let standing: Standing | null = null
  for (const [index, value] of values.entries()) {
    const { next, crossed } = judge(reading(value, more), standing, index * stepMs)
    standing = next
    if (crossed !== null) told.push(crossed)
  }
  return told
}

it('tells each threshold once, and of several at a time the highest', () => {
  expect(toldOf([10, 50, 55, 79, 80, 99, 100, 250])).toEqual([50, 80, 100])
  expect(toldOf([0, 130])).toEqual([100])
})

it('tells a threshold again only after the value has fallen clearly below it', () => {
  expect(toldOf([80, 76, 80, 75, 80])).toEqual([80])
  expect(toldOf([80, 74, 80])).toEqual([80, 80])
  expect(toldOf([80, 44, 50])).toEqual([80, 50])
  expect(toldOf([100, 74, 80, 100])).toEqual([100, 80, 100])
})

it('keeps what it knows while the value is unknown', () => {
  expect(toldOf([80, null, 80, null, null, 80])).toEqual([80])
  expect(toldOf([null, null])).toEqual([])
})

it('takes a short recovery for none where the value must stay below', () => {
  const one = { thresholds: [1], marginOf: () => 0, holdMs: 60_000 }
  expect(toldOf([1, 0, 0, 1, 0, 1], one)).toEqual([1])
  expect(toldOf([1, 0, 0, 0, 1], one, 40_000)).toEqual([1, 1])
})

it('counts a level that is no threshold any more as the next one below it', () => {
  const standing = { level: 80, clearSinceMs: null }
  expect(judge(reading(85, { thresholds: [90] }), standing, 0)).toEqual({ next: null, crossed: null })
  expect(judge(reading(85, { thresholds: [60] }), standing, 0)).toEqual({
    next: { level: 60, clearSinceMs: null },
    crossed: null,
  })
})
