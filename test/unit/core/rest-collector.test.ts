import { expect, it } from 'vitest'
import { RestCollector } from '../../../src/shared/runtime/rest-collector.ts'

const MIB = 1024 * 1024

function world() {
  const state = { hasRested: true, usedBytes: 30 * MIB, liveBytes: 20 * MIB, collections: 0 }
  const collector = new RestCollector({
    hasRested: () => state.hasRested,
    usedBytes: () => state.usedBytes,
    collect: () => {
      state.collections += 1
      state.usedBytes = state.liveBytes
    },
  })
  return { state, collector }
}

it('collects the garbage of a load once the process rests', () => {
  const { state, collector } = world()
  collector.check()
  expect(state.collections).toBe(1)

  state.usedBytes = 200 * MIB
  state.hasRested = false
  collector.check()
  expect(state.collections).toBe(1)

  state.hasRested = true
  collector.check()
  expect(state.collections).toBe(2)
})

it('leaves little garbage alone, however much lives', () => {
  const { state, collector } = world()
  state.liveBytes = 300 * MIB
  state.usedBytes = 310 * MIB
  collector.check()
  state.usedBytes = 315 * MIB
  collector.check()
  collector.check()
  expect(state.collections).toBe(1)
  state.usedBytes = 316 * MIB
  collector.check()
  expect(state.collections).toBe(2)
})

it('counts the garbage from what lives now, also when less lives than before', () => {
  const { state, collector } = world()
  state.liveBytes = 300 * MIB
  state.usedBytes = 316 * MIB
  collector.check()
  // V8 has collected by itself.
  state.usedBytes = 40 * MIB
  collector.check()
  expect(state.collections).toBe(1)
  state.usedBytes = 56 * MIB
  collector.check()
  expect(state.collections).toBe(2)
})

it('collects nothing where V8 offers no collection', () => {
  const asked: string[] = []
  const collector = new RestCollector({
    hasRested: () => true,
    usedBytes: () => {
      asked.push('used')
      return 500 * MIB
    },
    collect: undefined,
  })
  collector.check()
  expect(asked).toEqual([])
})
