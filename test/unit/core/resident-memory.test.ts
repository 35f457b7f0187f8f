import { expect, it } from 'vitest'
import { residentBytes } from '../../../src/shared/runtime/resident-memory.ts'

it('tells what the runtime tells, however often it is asked', () => {
  const told = process.memoryUsage.rss()
  for (let asked = 0; asked < 100; asked++) {
    const bytes = residentBytes()
    expect(bytes).toBeGreaterThan(told / 2)
    expect(bytes).toBeLessThan(told * 2)
  }
})
